"""The evidence of a run, indexed for the rules that judge it, and what a crash excuses. Pure.

A crash excuses a repetition if, when it struck, the delivery had begun and the record it came from was in no commit: it
was in flight, or settled since the last commit. The excuse is for one repetition for each such record (the event's,
which another of its deliveries may have held back, and the retry's), of a partition that the crash hit, and ends when
all is as before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tests.faults.harness.facts import Delivery, Evidence, Fault, Letter, Place, Receipt, Turn
from tests.faults.harness.plan import Behaviour, Ending

__all__ = ["CLOCK_SLACK_MS", "Case", "named"]

#: Between what a target and a worker write down of the same moment. Both clocks are this machine's; but a worker's is
#: steady, and follows small corrections of the other one by 3 ms a minute only: 30 ms were seen on a busy machine.
CLOCK_SLACK_MS = 60.0
#: A repeated attempt that fails is parked as well: a second branch, that may come when all is as before, after one wait
#: of the longest tier of the load. Then it meets the first.
_FORK_MS = 6_000.0
#: How long a receiver that hangs, or a way there, may hold back a request that its worker has given up.
_HELD_BACK_MS = 15_000.0


class Case:
    """Everything by delivery."""

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
        self.letters: dict[Delivery, list[Letter]] = defaultdict(list)
        for letter in evidence.letters:
            self.letters[letter.event_id, letter.target or ""].append(letter)
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

    def behaviour(self, delivery: Delivery) -> Behaviour | None:
        return self.targets.get(delivery[1])

    def ends(self, delivery: Delivery) -> Ending:
        """How it must end; what nobody wants is a dead letter."""
        behaviour = self.behaviour(delivery)
        return behaviour.ends_for(delivery[0]) if behaviour else "dead"

    def taken(self, delivery: Delivery) -> bool:
        """Did its target say that it took it?"""
        return any(receipt.ok for receipt in self.receipts[delivery])

    def put_off(self, delivery: Delivery) -> bool:
        """Was its last turn a deferral, which costs no attempt?"""
        turns = self.turns[delivery]
        return bool(turns) and turns[-1].outcome == "deferred"

    def turn_of(self, receipt: Receipt) -> Turn | None:
        """The recorded turn in which a request was made or a handler called."""
        near = [
            (off_ms, turn)
            for turn in self.turns[receipt.delivery]
            if (off_ms := max(turn.started_ms - receipt.began_ms, receipt.began_ms - turn.ended_ms, 0.0))
            <= CLOCK_SLACK_MS
        ]
        # The nearest: with the slack of clocks a retry at once would count as part of the attempt before.
        return min(near, key=lambda found: found[0])[1] if near else None

    def held_back(self, receipt: Receipt) -> Turn | None:
        """The recorded turn that a request is of, if its target saw it only when the worker had given it up.

        Only a fault holds a request back for so long.
        """
        before = [turn for turn in self.turns[receipt.delivery] if turn.started_ms <= receipt.began_ms]
        turn = before[-1] if before else None
        if turn is None or turn.status is not None or turn.outcome not in {"failed", "interrupted"}:
            return None
        waited = turn.ended_ms < receipt.began_ms < turn.ended_ms + _HELD_BACK_MS
        faulty = any(fault.overlaps(turn.started_ms, receipt.began_ms) for fault in self.evidence.faults)
        return turn if waited and faulty else None

    def excuses(self, delivery: Delivery, at_ms: float) -> list[Fault]:
        """The crashes that excuse a repetition of this delivery at this time."""
        return [
            fault
            for fault in self.crashes
            if fault.struck_ms[0] <= at_ms <= max(fault.calm_ms, fault.ended_ms) + _FORK_MS
            and self.left_open(delivery, fault)
        ]

    def reopened(self, delivery: Delivery) -> int:
        """How many of its records crashes left open."""
        return sum(self.open_records(delivery, fault) for fault in self.crashes)

    def left_open(self, delivery: Delivery, fault: Fault) -> bool:
        """Had it begun, and was a record that it comes from in no commit, when the fault struck?"""
        return self.open_records(delivery, fault) > 0

    def open_records(self, delivery: Delivery, fault: Fault) -> int:
        """Of how many records would the next owner begin it again?"""
        event_id, target = delivery
        repeats, struck_ms = fault.repeats, fault.struck_ms[1]
        begun_ms = [
            *(receipt.began_ms for receipt in self.receipts[delivery][:1]),
            *(turn.started_ms for turn in self.turns[delivery][:1]),
            # An event that nobody wants is tried by nobody: its dead letter is all that there is of it.
            *(letter.appended_ms for letter in self.letters[delivery]),
        ]
        if repeats is None or min(begun_ms, default=struck_ms + 1) > struck_ms:
            return 0
        return sum(
            place.target in {None, target} and place.in_hand(struck_ms) and repeats.leave_open(place)
            for place in self.places[event_id]
        )

    def rows_repeated(self, delivery: Delivery) -> int:
        """How often the connector has sent its row again, for a reason that is among the faults."""
        places = sorted(
            place.appended_ms for place in self.places[delivery[0]] if place.partition[0] == "outbox.events"
        )
        return sum(
            1
            for again_ms in places[1:]
            if any(
                f.repeats_rows and f.began_ms <= again_ms and f.overlaps(places[0], again_ms)
                for f in self.evidence.faults
            )
        )


def named(delivery: Delivery) -> str:
    """A delivery as the verdict names it."""
    return f"{delivery[0]} → {delivery[1] or 'nobody'}"
