"""How long the system took to be as before after each fault. Pure.

Measured afterwards, from outside: recovered is when the last late thing has come. Late is an event whose
first attempt at a prompt target came more than a second after its commit, and a retry that came more than two seconds
after it was due.
What was late is put down to the fault that was the last to begin before it should have come.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.faults.harness.facts import Delivery, Evidence
from tests.faults.harness.plan import Behaviour

__all__ = ["recoveries"]

_LATE_MS = 1_000.0
_CLOCK_SLACK_MS = 5.0
_LATE_RETRY_MS = 2_000.0


def recoveries(evidence: Evidence, *, targets: Mapping[str, Behaviour]) -> list[float]:
    """Seconds from each fault's end to the last late arrival that it caused; 0 where nothing was late."""
    began = [fault.began_ms for fault in evidence.faults]
    took = [0.0] * len(began)
    for should_ms, came_ms in (*_late_events(evidence, targets), *_late_retries(evidence, targets)):
        index = bisect_right(began, should_ms) - 1
        if index >= 0:
            healed_ms = evidence.faults[index].healed_ms
            took[index] = max(took[index], (came_ms - healed_ms) / 1000)
    return took


def _late_events(evidence: Evidence, targets: Mapping[str, Behaviour]) -> Iterator[tuple[float, float]]:
    first: dict[Delivery, float] = {}
    for receipt in evidence.receipts:
        behaviour = targets.get(receipt.target)
        if behaviour is not None and behaviour.prompt:
            first[receipt.delivery] = min(first.get(receipt.delivery, receipt.began_ms), receipt.began_ms)
    created = {row.event_id: row.created_ms for row in evidence.rows}
    for (event_id, _), came_ms in first.items():
        created_ms = created.get(event_id, came_ms)
        if came_ms - created_ms > _LATE_MS:
            # It should have come while the fault lasted: one second late is when it is missed.
            yield created_ms + _LATE_MS, came_ms


def _late_retries(evidence: Evidence, targets: Mapping[str, Behaviour]) -> Iterator[tuple[float, float]]:
    begun: dict[Delivery, list[float]] = defaultdict(list)
    for turn in evidence.turns:
        begun[turn.delivery].append(turn.started_ms)
    for receipt in evidence.receipts:
        begun[receipt.delivery].append(receipt.began_ms)
    for turn in evidence.turns:
        behaviour = targets.get(turn.target)
        if turn.next_ms is None or (behaviour is not None and behaviour.hangs):
            continue
        later = [at_ms for at_ms in begun[turn.delivery] if at_ms > turn.ended_ms + _CLOCK_SLACK_MS]
        if later and min(later) - turn.next_ms > _LATE_RETRY_MS:
            yield turn.next_ms + _LATE_RETRY_MS, min(later)
