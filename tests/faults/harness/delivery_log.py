"""What the delivery log in Postgres has to say: the rules of the recorder. Pure.

It is held against `outbox.attempts`, which the other rules hold against what the targets saw.
"""

from __future__ import annotations

from collections import Counter

from tests.faults.harness.case import Case, named
from tests.faults.harness.facts import Turn

__all__ = ["LOG_RULES"]


def unlogged(case: Case) -> list[str]:
    """Every attempt on record is in the log, once, and nothing else is."""
    wanted = Counter(turn.attempt_id for turn in case.evidence.turns)
    logged = Counter(case.evidence.logged.attempts)
    missing, surplus = wanted - logged, logged - wanted
    # A record that was produced twice is the same attempt.
    missing = Counter({attempt_id: 1 for attempt_id in missing if attempt_id not in logged})
    return [*(f"{attempt_id}: missing" for attempt_id in missing), *(f"{text}: surplus" for text in surplus)]


def misjudged(case: Case) -> list[str]:
    """Each delivery is in the log once, with the status that all of its attempts together make."""
    found = []
    for delivery, turns in case.turns.items():
        statuses = case.evidence.logged.statuses.get(delivery, [])
        if turns and (len(statuses) != 1 or statuses[0] not in _right(turns)):
            found.append(f"{named(delivery)}: {', '.join(statuses) or 'none'}")
    return found


def _right(turns: list[Turn]) -> set[str]:
    """Success is final, and a dead letter beats what waits."""
    if any(turn.outcome == "succeeded" for turn in turns):
        return {"succeeded"}
    if any(turn.buried for turn in turns):
        return {"failed"}
    if all(turn.attempt == 1 and turn.outcome == "deferred" for turn in turns):
        return {"pending"}
    return {"retrying", "cancelled"} if any(turn.outcome == "cancelled" for turn in turns) else {"retrying"}


LOG_RULES = {
    "attempts not in the log, or too many": unlogged,
    "deliveries wrong in the log": misjudged,
}
