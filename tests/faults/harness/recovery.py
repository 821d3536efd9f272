"""How late what came was, and how long the system took to be as before after each fault. Pure.

Late is an event whose first attempt at a prompt target came more than a second after its commit, and a retry that came
more than two seconds after it was due. What was late is put down to the last fault that had begun when it was missed.
Recovered is when the last of it has come: counted from the end of the fault; or, where the system was there all the
while, from when it should have come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from tests.faults.harness.case import CLOCK_SLACK_MS, Case
from tests.faults.harness.facts import Delivery

__all__ = ["late_in_the_calm", "recoveries"]

_LATE_MS = 1_000.0
_LATE_RETRY_MS = 2_000.0
#: What is late although nothing is wrong must be later than a busy machine makes it.
_CALM_SLACK_MS = 2_500.0
_JUST_BEFORE_MS = 1_000.0

#: When something was missed, and when it came.
_Late = tuple[float, float]


def recoveries(case: Case) -> list[float]:
    """Seconds that each fault took to be over; 0 where nothing was late."""
    faults = case.evidence.faults
    took = [0.0] * len(faults)
    for index, missed_ms, came_ms in _by_fault(case):
        if index >= 0:
            since_ms = missed_ms if faults[index].lasting else faults[index].healed_ms
            took[index] = max(took[index], (came_ms - since_ms) / 1000)
    return took


def late_in_the_calm(case: Case) -> list[str]:
    """What was late when all was as before, or before any fault."""
    faults = case.evidence.faults
    found = []
    for index, missed_ms, came_ms in _by_fault(case):
        calm = missed_ms > case.evidence.flowed_ms if index < 0 else missed_ms > faults[index].calm_ms > 0
        if calm and came_ms - missed_ms > _CALM_SLACK_MS:
            found.append(
                f"{(came_ms - missed_ms) / 1000:.1f} s, {(missed_ms - case.evidence.flowed_ms) / 1000:.0f} s on"
            )
    return found


def _by_fault(case: Case) -> Iterator[tuple[int, float, float]]:
    began = [fault.began_ms for fault in case.evidence.faults]
    for missed_ms, came_ms in (*_late_events(case), *_late_retries(case)):
        # What was missed just before a fault may have been late a little, and the fault did the rest.
        yield bisect_right(began, missed_ms + _JUST_BEFORE_MS) - 1, missed_ms, came_ms


def _late_events(case: Case) -> Iterator[_Late]:
    for delivery in case.expected:
        behaviour, receipts = case.behaviour(delivery), case.receipts[delivery]
        if behaviour is not None and behaviour.prompt and receipts:
            missed_ms = case.rows[delivery[0]].created_ms + _LATE_MS
            if receipts[0].began_ms > missed_ms:
                yield missed_ms, receipts[0].began_ms


def _late_retries(case: Case) -> Iterator[_Late]:
    begun: dict[Delivery, list[float]] = defaultdict(list)
    for delivery, turns in case.turns.items():
        begun[delivery] += [turn.started_ms for turn in turns]
    for delivery, receipts in case.receipts.items():
        begun[delivery] += [receipt.began_ms for receipt in receipts]
    for turn in case.evidence.turns:
        behaviour = case.behaviour(turn.delivery)
        # One that asks for an hour waits in laps, and in the shortest lane that is not shorter: some seconds more.
        slow = behaviour is not None and (behaviour.hangs or behaviour.ends in {"waiting", "unserved"})
        if turn.next_ms is None or slow:
            continue
        later = [at_ms for at_ms in begun[turn.delivery] if at_ms > turn.ended_ms + CLOCK_SLACK_MS]
        if later and min(later) - turn.next_ms > _LATE_RETRY_MS:
            yield turn.next_ms + _LATE_RETRY_MS, min(later)
