"""How often and when targets were tried: the rules of attempts, by what the targets saw. Pure."""

from __future__ import annotations

from itertools import pairwise

from streams.duration import parse_duration
from tests.faults.harness.case import CLOCK_SLACK_MS, Case, named
from tests.faults.harness.facts import Delivery, Fault, Receipt, Turn
from tests.faults.harness.plan import ATTEMPTS, SCHEDULE

__all__ = ["ATTEMPT_RULES", "repetitions"]

#: How many attempts a crash may add: the one that it cut off, and one of the second branch before it meets the first.
_ATTEMPTS_A_CRASH = 2
#: How many attempts a crash may hurry: those that it adds, and those that follow them, by each of two measures.
_HURRIED_BY_A_CRASH = 4 * _ATTEMPTS_A_CRASH
#: A settled delivery is in a commit after the interval of 250 ms, and the time that one commit takes.
_COMMIT_SLACK_MS = 1_500.0
#: An answer that comes later than this after its request may find nobody: the workers wait for 3 s.
_SLOW_ANSWER_MS = 2_500.0
#: How many attempts it takes to open a circuit at most: a hundred that fail at once, while others are under way.
_TO_OPEN = 100 + 16
#: Five each after 5, 10, 20 and 40 seconds, then every minute.
_PROBES_A_MINUTE = 20
_WORKERS = 3
_GAPS_MS = [parse_duration(text).total_seconds() * 500 for text in SCHEDULE.split(",")]

Repetition = tuple[Delivery, Fault | None]


def early(case: Case) -> list[str]:
    """INV-3: by what the targets saw, and by what the product had promised."""
    found = []
    for delivery in case.receipts:
        hurried = _too_soon(case, delivery) + _before_the_promise(case, delivery)
        # A row that the connector sends again, to a worker that doesn't know it any more, begins a second branch.
        by_rows = _HURRIED_BY_A_CRASH * case.rows_repeated(delivery)
        by_crashes = _HURRIED_BY_A_CRASH * case.reopened(delivery)
        unexcused = [at_ms for at_ms in hurried if not case.excuses(delivery, at_ms)]
        if len(unexcused) > by_rows or len(hurried) > by_crashes + by_rows:
            found.append(named(delivery))
    return found


def _too_soon(case: Case, delivery: Delivery) -> list[float]:
    """Attempts that came sooner after the one before than half of the schedule's wait."""
    behaviour = case.behaviour(delivery)
    found = []
    more = _ATTEMPTS_A_CRASH * case.reopened(delivery)
    for index, (before, after) in enumerate(pairwise(case.receipts[delivery])):
        # What a crash adds moves the schedule's places.
        place = min(max(index - more, 0), len(_GAPS_MS) - 1)
        gap_ms = max(behaviour.gap_ms if behaviour else 0.0, _GAPS_MS[place])
        ended_ms = before.began_ms if before.answered_ms is None else before.answered_ms
        if case.held_back(before) is not None or _of_two_branches(case, before, after):
            continue  # what follows is judged by what that attempt promised
        if not before.ok and after.began_ms < ended_ms + gap_ms - CLOCK_SLACK_MS:
            found += [] if _one_attempt(case, before, after) else [after.began_ms]
    return found


def _of_two_branches(case: Case, before: Receipt, after: Receipt) -> bool:
    """Did a crash fork the delivery, and is the one no attempt that could follow the other?"""
    turns = case.turn_of(before), case.turn_of(after)
    if turns[0] is None or turns[1] is None or not _forked(case, after.delivery):
        return False
    return turns[1].attempt not in {turns[0].attempt, turns[0].attempt + 1}


def _forked(case: Case, delivery: Delivery) -> bool:
    return case.reopened(delivery) + case.rows_repeated(delivery) > 0


def _one_attempt(case: Case, before: Receipt, after: Receipt) -> bool:
    """Is it no second attempt?

    The kept connection was closed without an answer, and the request sent again on a new one (CASES 23): once. Or the
    request came so late that its attempt had ended, and what follows is judged by what that attempt promised.
    """
    if before.answered_ms is not None:
        return False
    turn = case.turn_of(before)
    if turn is None:
        return any(
            earlier.outcome in {"failed", "interrupted"} and earlier.ended_ms < before.began_ms
            for earlier in case.turns[before.delivery]
        ) or bool(case.excuses(before.delivery, after.began_ms) or _crash_later(case, after))
    within = [r for r in case.receipts[before.delivery] if case.turn_of(r) is turn]
    return after in within and len(within) <= 2


def _crash_later(case: Case, receipt: Receipt) -> bool:
    """A crash may have taken the record of the attempt."""
    return any(
        f.struck_ms[1] >= receipt.began_ms for f in case.crashes if case.left_open(receipt.delivery, f)
    )


def _before_the_promise(case: Case, delivery: Delivery) -> list[float]:
    found = []
    for turn in case.turns[delivery]:
        promised = turn.attempt if turn.outcome == "deferred" else turn.attempt + 1
        following = next(
            (
                receipt.began_ms
                for receipt in case.receipts[delivery]
                if receipt.began_ms > turn.ended_ms + CLOCK_SLACK_MS
                and not _came_late(case, receipt)
                and not _of_another_branch(case, receipt, promised)
            ),
            None,
        )
        next_ms = _promise(case, turn)
        if next_ms is not None and following and following < next_ms - CLOCK_SLACK_MS:
            found.append(following)
    return found


def _promise(case: Case, turn: Turn) -> float | None:
    """When the next attempt may come.

    A crash may have a deferral made twice: a second branch. They may wait for minutes, and the first to come is right.
    """
    if turn.next_ms is None or turn.outcome != "deferred":
        return turn.next_ms
    identity = turn.outcome, turn.attempt, turn.deferrals
    twins = (t for t in case.turns[turn.delivery] if (t.outcome, t.attempt, t.deferrals) == identity)
    return min(twin.next_ms for twin in twins if twin.next_ms is not None)


def _of_another_branch(case: Case, receipt: Receipt, promised: int) -> bool:
    """Is it another attempt than the promised one? With a lower number, it is judged as a repetition.

    With a higher one it is of another branch: a crash forks a delivery, and a target that is down keeps both branches
    waiting for as long as it is, each by promises of its own.
    """
    turn = case.turn_of(receipt)
    if turn is None or turn.attempt == promised:
        return False
    return turn.attempt < promised or _forked(case, receipt.delivery)


def _came_late(case: Case, receipt: Receipt) -> bool:
    """Is it a request of an attempt that had ended?"""
    return case.held_back(receipt) is not None or (
        receipt.answered_ms is None and case.turn_of(receipt) is None
    )


def too_many(case: Case) -> list[str]:
    """INV-7: no more attempts than allowed, but for those that a crash adds; none after the dead letter."""
    found = []
    for delivery in case.expected:
        behaviour, receipts = case.behaviour(delivery), case.receipts[delivery]
        if behaviour is None or case.ends(delivery) != "dead":
            continue
        again = case.reopened(delivery) + case.rows_repeated(delivery)
        unanswered = sum(1 for t in case.turns[delivery] if t.status is None and behaviour.attempts == 1)
        allowed = max(behaviour.attempts, unanswered + 1) + _ATTEMPTS_A_CRASH * again
        letters_ms = [letter.appended_ms for letter in case.letters[delivery]]
        after = [
            r
            for r in receipts
            if letters_ms
            and r.began_ms > max(letters_ms) + CLOCK_SLACK_MS
            and (r.answered_ms is not None or case.turn_of(r) is not None)
        ]
        if len(receipts) > allowed or after:
            found.append(f"{named(delivery)}: {len(receipts)}")
    return found + [f"{named(t.delivery)}: {t.attempt}" for t in case.evidence.turns if t.attempt > ATTEMPTS]


def too_few(case: Case) -> list[str]:
    """CASES 5: N attempts are exactly N: each is on record before the delivery is given up."""
    found = []
    for delivery in case.expected:
        behaviour = case.behaviour(delivery)
        if behaviour is None or case.ends(delivery) != "dead" or not case.letters[delivery]:
            continue
        numbers = {turn.attempt for turn in case.turns[delivery]}
        missing = set(range(1, behaviour.attempts + 1)) - numbers
        answered = sum(1 for turn in case.turns[delivery] if turn.status is not None)
        if len(missing) > case.reopened(delivery) or answered > len(case.receipts[delivery]):
            found.append(named(delivery))
    return found


def unrecorded(case: Case) -> list[str]:
    """Every answer is on record in `outbox.attempts`, but for what a crash took."""
    return [
        named(receipt.delivery)
        for receipt in case.evidence.receipts
        if receipt.answered_ms is not None
        and receipt.event_id in case.rows
        and case.turn_of(receipt) is None
        and not _crash_later(case, receipt)
        and case.held_back(receipt) is None
    ]


def hammered(case: Case) -> list[str]:
    """CASES 7: an endpoint that is down is probed, not hammered: what opens its circuit, and then a few a minute.

    Every worker has a circuit of its own, which a restart forgets.
    """
    evidence = case.evidence
    down = [target for target, behaviour in case.targets.items() if behaviour.name == "down"]
    minutes = (evidence.ended_ms - evidence.flowed_ms) / 60_000
    most = _TO_OPEN * evidence.workers_started + _PROBES_A_MINUTE * _WORKERS * minutes
    tried = sum(1 for receipt in evidence.receipts if receipt.target in down)
    return [f"{tried} attempts, of {most:.0f} at most"] if tried > most else []


def repetitions(case: Case) -> list[Repetition]:
    """Each time that a target took what it had taken, with the crash that excuses it."""
    found: list[Repetition] = []
    for delivery, receipts in case.receipts.items():
        taken = [receipt for receipt in receipts if receipt.ok]
        used: list[Fault] = []
        rows = case.rows_repeated(delivery)
        for first, again in pairwise(taken):
            if _answer_was_lost(case, first):
                continue
            excuses = case.excuses(delivery, again.began_ms)
            excuse = next((f for f in excuses if used.count(f) < case.open_records(delivery, f)), None)
            if excuse is None and rows:
                rows -= 1
                continue
            used += [excuse] if excuse else []
            found.append((delivery, excuse))
    return found


def _answer_was_lost(case: Case, receipt: Receipt) -> bool:
    """The target took it, the worker says that it never heard, and there is a reason for that in sight."""
    if case.held_back(receipt) is not None:
        return True
    turn = case.turn_of(receipt)
    if turn is None or turn.outcome not in {"failed", "interrupted"}:
        return False
    answered_ms = receipt.answered_ms or receipt.began_ms
    slow = answered_ms - receipt.began_ms > _SLOW_ANSWER_MS
    return slow or any(f.overlaps(receipt.began_ms, answered_ms) for f in case.evidence.faults)


def stale(case: Case) -> list[str]:
    """INV-8: repeated, although all deliveries of the event were on record long before the crash."""
    found = []
    for delivery, fault in repetitions(case):
        if fault is None or fault.recovery_limit_s is None:
            continue
        of_event = [other for other in case.expected if other[0] == delivery[0]]
        ends_ms = [min((t.recorded_ms for t in case.turns[d]), default=fault.struck_ms[0]) for d in of_event]
        taken_ms = [t.recorded_ms for t in case.turns[delivery] if t.outcome == "succeeded"]
        if taken_ms and max(min(taken_ms), *ends_ms) < fault.struck_ms[0] - _COMMIT_SLACK_MS:
            found.append(named(delivery))
    return found


def unexcused(case: Case) -> list[str]:
    """INV-8: nothing but a crash repeats."""
    return [named(delivery) for delivery, fault in repetitions(case) if fault is None]


ATTEMPT_RULES = {
    "down, and hammered": hammered,
    "early": early,
    "more attempts than allowed": too_many,
    "fewer attempts than promised": too_few,
    "answers without a record": unrecorded,
    "repeated without a crash": unexcused,
    "repeated though long settled": stale,
}
