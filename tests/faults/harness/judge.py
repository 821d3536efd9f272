"""The verdict on a run: what was lost, early, wrong or repeated, and how long recovery took. Pure.

Accounting is by delivery (event × target), expected from what Postgres has committed: each is delivered (the
target answered that it took it), or a dead letter, or waits in a topic whose next reader gets it.

Repetition. A delivery is repeated where its target took it twice, although the product had recorded nothing else
of the first time. A crash before it excuses one repetition, if at that moment the delivery had begun, and no commit
covered the record it came from: it was in flight, or settled since the last commit. `stale` are those excused ones
that were settled long before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.faults.harness.facts import Delivery, Evidence, Fault, Place, Receipt, Turn
from tests.faults.harness.plan import ATTEMPTS, BEHAVIOURS, Behaviour
from tests.faults.harness.recovery import recoveries

__all__ = ["FaultLine", "Line", "Verdict", "judge"]

#: Between what a target and a worker write down of the same moment. Both clocks are this machine's.
_CLOCK_SLACK_MS = 5.0
#: A settled delivery is in a commit after the interval of 250 ms, and the time that one commit takes.
_COMMIT_SLACK_MS = 1_500.0
#: A parked record that nobody has moved for so long after it was due is stuck, not waiting.
_STUCK_MS = 5_000.0
_EXAMPLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the verdict: what must be zero, how many there were, and some of their names."""

    rule: str
    count: int
    examples: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        return self.count == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultLine:
    """A fault with what it cost. `repeatable` is how many deliveries it was allowed to repeat."""

    fault: Fault
    repeated: int
    repeatable: int
    recovery_s: float

    @property
    def in_time(self) -> bool:
        limit_s = self.fault.recovery_limit_s
        return limit_s is None or self.recovery_s <= limit_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The whole verdict."""

    lines: Sequence[Line]
    faults: Sequence[FaultLine]
    counts: Mapping[str, int]

    @property
    def holds(self) -> bool:
        return all(line.holds for line in self.lines)

    def line(self, rule: str) -> Line:
        return next(line for line in self.lines if line.rule == rule)


def judge(evidence: Evidence, *, targets: Mapping[str, Behaviour]) -> Verdict:
    """Judge a run.

    Args:
        evidence: all that is known of it.
        targets: the name of each target as on the wire, and how it behaves.
    """
    case = _Case(evidence, targets)
    repeated = case.repeated()
    lines = [
        _line("lost", case.lost()),
        _line("stuck in a topic", case.stuck()),
        _line("early", case.early()),
        _line("wrong bytes", case.wrong_bytes()),
        _line("wrong signatures", [_name(r.delivery) for r in evidence.receipts if not r.signed]),
        _line("never committed", case.unknown()),
        _line("to the wrong end", case.wrong_ends()),
        _line("more attempts than allowed", case.too_many_attempts()),
        _line("repeated without a crash", [_name(d) for d, fault in repeated if fault is None]),
        _line("repeated though long settled", case.stale(repeated)),
        _line("dead letters of poison missing", case.poison_missing()),
        _line("processes that ended by themselves", evidence.deaths),
        _line("secrets or payloads in logs", [f"{log}: {w}" for log, w in evidence.leaks.items() if w]),
    ]
    faults = case.fault_lines(repeated)
    slow = [f"{f.fault.kind}: {f.recovery_s:.1f} s" for f in faults if not f.in_time]
    lines.append(_line("recovered too late", slow))
    return Verdict(lines=lines, faults=faults, counts=case.counts())


class _Case:
    """The evidence, indexed."""

    def __init__(self, evidence: Evidence, targets: Mapping[str, Behaviour]) -> None:
        self.evidence = evidence
        self.targets = targets
        self.rows = {row.event_id: row for row in evidence.rows}
        self.receipts: dict[Delivery, list[Receipt]] = defaultdict(list)
        for receipt in sorted(evidence.receipts, key=lambda found: found.began_ms):
            self.receipts[receipt.delivery].append(receipt)
        self.turns: dict[Delivery, list[Turn]] = defaultdict(list)
        for turn in sorted(evidence.turns, key=lambda found: found.started_ms):
            self.turns[turn.delivery].append(turn)
        self.places: dict[str, list[Place]] = defaultdict(list)
        for place in evidence.places:
            self.places[place.event_id].append(place)
        wanted: dict[str, list[str]] = defaultdict(list)
        for name, behaviour in targets.items():
            wanted[behaviour.wants].append(name)
        #: Every delivery that must be accounted for; an event that nobody wants has one to nobody.
        self.expected: list[Delivery] = [
            (row.event_id, target)
            for row in evidence.rows
            for target in wanted.get(row.type.rpartition(".")[2], [""])
        ]
        self.crashes = [fault for fault in evidence.faults if fault.repeats is not None]

    def counts(self) -> dict[str, int]:
        delivered = sum(any(r.ok for r in self.receipts[d]) for d in self.expected)
        return {
            "events committed": len(self.rows),
            "deliveries expected": len(self.expected),
            "delivered": delivered,
            "dead letters": len(self.evidence.letters),
            "waiting": len(self.evidence.waiting),
            "attempts seen by targets": len(self.evidence.receipts),
            "turns recorded": len(self.evidence.turns),
        }

    # What must be zero

    def lost(self) -> list[str]:
        """Committed − delivered − dead − waiting."""
        dead = {(letter.event_id, letter.target or "") for letter in self.evidence.letters}
        waits = {(record.event_id, record.target or "") for record in self.evidence.waiting}
        accounted = dead | waits
        return [
            _name(delivery)
            for delivery in self.expected
            if not any(receipt.ok for receipt in self.receipts[delivery])
            and delivery not in accounted
            and (delivery[0], "") not in accounted
        ]

    def stuck(self) -> list[str]:
        """What waits although it is not meant to wait: nobody settles or moves it."""
        since_ms = self.evidence.ended_ms - _STUCK_MS
        return [
            f"{_name((record.event_id, record.target or ''))} in {record.topic}"
            for record in self.evidence.waiting
            if (record.appended_ms if record.due_ms is None else record.due_ms) < since_ms
        ]

    def early(self) -> list[str]:
        """INV-3: by what the targets saw, and by what the product had promised."""
        found: list[str] = []
        for delivery, receipts in self.receipts.items():
            behaviour = self.targets.get(delivery[1])
            gap_ms = behaviour.gap_ms if behaviour else 0.0
            for before, after in pairwise(receipts):
                ended_ms = before.began_ms if before.answered_ms is None else before.answered_ms
                if not before.ok and after.began_ms < ended_ms + gap_ms - _CLOCK_SLACK_MS:
                    excused = self._same_attempt(before, after) or self._crashes(delivery, after)
                    found += [] if excused else [_name(delivery)]
            found += self._before_the_promise(delivery)
        return found

    def _same_attempt(self, before: Receipt, after: Receipt) -> bool:
        """The kept connection was closed without an answer, and the request sent again on a new one (CASES 23).

        A crash may have taken the record of that attempt.
        """
        if before.answered_ms is not None:
            return False
        return any(
            turn.started_ms - _CLOCK_SLACK_MS <= before.began_ms
            and after.began_ms <= turn.ended_ms + _CLOCK_SLACK_MS
            for turn in self.turns[before.delivery]
        ) or any(
            f.struck_ms[1] >= after.began_ms for f in self.crashes if self._left_open(before.delivery, f)
        )

    def _before_the_promise(self, delivery: Delivery) -> list[str]:
        found = []
        for turn in self.turns[delivery]:
            if turn.next_ms is None:
                continue
            following = [r for r in self.receipts[delivery] if r.began_ms > turn.ended_ms + _CLOCK_SLACK_MS]
            if following and following[0].began_ms < turn.next_ms - _CLOCK_SLACK_MS:
                found += [] if self._crashes(delivery, following[0]) else [_name(delivery)]
        return found

    def wrong_bytes(self) -> list[str]:
        return [
            _name(r.delivery)
            for r in self.evidence.receipts
            if r.event_id in self.rows and r.sha256 != self.rows[r.event_id].sha256
        ]

    def unknown(self) -> list[str]:
        return [_name(r.delivery) for r in self.evidence.receipts if r.event_id not in self.rows]

    def wrong_ends(self) -> list[str]:
        """A delivery that its target would have taken is no dead letter, and the other way round."""
        found = []
        for letter in self.evidence.letters:
            behaviour = self.targets.get(letter.target or "")
            if behaviour is not None and behaviour.ends != "dead":
                found.append(f"{_name((letter.event_id, letter.target or ''))}: {letter.code}")
            if letter.target is None and letter.event_id in self.rows:
                wanted = not self.rows[letter.event_id].type.endswith(".unrouted")
                found += [f"{letter.event_id}: {letter.code}"] if wanted else []
        return found

    def too_many_attempts(self) -> list[str]:
        """INV-7: the count survives every crash, so nobody is tried for ever."""
        return [f"{_name(t.delivery)}: {t.attempt}" for t in self.evidence.turns if t.attempt > ATTEMPTS]

    def poison_missing(self) -> list[str]:
        wanted = sum(fault.poisoned for fault in self.evidence.faults)
        found = sum(1 for letter in self.evidence.letters if letter.code == "EVENT_MALFORMED")
        return ["poison"] * max(wanted - found, 0)

    # Repetition

    def repeated(self) -> list[tuple[Delivery, Fault | None]]:
        """Each repetition, with the crash that excuses it."""
        found: list[tuple[Delivery, Fault | None]] = []
        for delivery, receipts in self.receipts.items():
            taken = [receipt for receipt in receipts if receipt.ok]
            used: list[Fault] = []
            for first, again in pairwise(taken):
                if not self._answer_was_lost(first):
                    excuse = next((f for f in self._crashes(delivery, again) if f not in used), None)
                    used += [excuse] if excuse else []
                    found.append((delivery, excuse))
        return found

    def stale(self, repeated: Iterable[tuple[Delivery, Fault | None]]) -> list[str]:
        """INV-8: repeated, although all deliveries of the event were on record long before the crash."""
        found = []
        for delivery, fault in repeated:
            if fault is None or fault.recovery_limit_s is None:
                continue
            ends = [turn.recorded_ms for turn in self.turns[delivery] if turn.outcome == "succeeded"]
            others = [d for d in self.expected if d[0] == delivery[0]] if delivery[0] in self.rows else []
            ends_of_all = [
                max((t.recorded_ms for t in self.turns[d]), default=fault.began_ms) for d in others
            ]
            if ends and max([min(ends), *ends_of_all]) < fault.began_ms - _COMMIT_SLACK_MS:
                found.append(_name(delivery))
        return found

    def _answer_was_lost(self, receipt: Receipt) -> bool:
        """The target took it, and the worker never heard: by its record the attempt failed or was cut off."""
        return any(
            turn.outcome in {"failed", "interrupted"}
            and turn.started_ms - _CLOCK_SLACK_MS <= receipt.began_ms <= turn.ended_ms + _CLOCK_SLACK_MS
            for turn in self.turns[receipt.delivery]
        )

    def _crashes(self, delivery: Delivery, again: Receipt) -> list[Fault]:
        """What excuses this attempt: a crash before it, when the delivery had begun and was in no commit."""
        return [f for f in self.crashes if f.struck_ms[0] <= again.began_ms and self._left_open(delivery, f)]

    def _left_open(self, delivery: Delivery, fault: Fault) -> bool:
        """Had it begun, and was a record that it comes from in no commit, when the fault struck?"""
        event_id, target = delivery
        struck_ms = fault.struck_ms[1]
        begun_ms = [
            *(receipt.began_ms for receipt in self.receipts[delivery][:1]),
            *(turn.started_ms for turn in self.turns[delivery][:1]),
        ]
        return (
            fault.repeats is not None
            and min(begun_ms, default=struck_ms + 1) <= struck_ms
            and any(
                place.target in {None, target}
                and place.in_hand(struck_ms)
                and fault.repeats.leave_open(place)
                for place in self.places[event_id]
            )
        )

    def fault_lines(self, repeated: Sequence[tuple[Delivery, Fault | None]]) -> list[FaultLine]:
        took_s = recoveries(self.evidence, targets=self.targets)
        return [
            FaultLine(
                fault=fault,
                repeated=sum(1 for _, excuse in repeated if excuse is fault),
                repeatable=self._repeatable(fault),
                recovery_s=took_s[index],
            )
            for index, fault in enumerate(self.evidence.faults)
        ]

    def _repeatable(self, fault: Fault) -> int:
        """How many deliveries had begun when it struck, and were in no commit."""
        return sum(1 for delivery in self.expected if self._left_open(delivery, fault))


def _line(rule: str, found: Sequence[str]) -> Line:
    return Line(rule=rule, count=len(found), examples=tuple(found[:_EXAMPLES]))


def _name(delivery: Delivery) -> str:
    return f"{delivery[0]} → {delivery[1] or 'nobody'}"


assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS)
