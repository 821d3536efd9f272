"""Whether an event is accounted for, by what is known of it. Pure.

Place in the data's way: after all facts are gathered. Invariant: every event has exactly one verdict, so the counts
add up to the committed events, and what is left over is exactly what breaks INV-1. An event that the workers have
not settled yet can't break it: what the log says of it may be half written.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from connectors.postgres.event_facts import Fact

__all__ = ["ACCOUNTED", "REASONS", "Verdict", "breaking", "counted_verdicts", "judge"]


class Verdict(StrEnum):
    """What became of an event. The first five account for it; the others break INV-1."""

    DELIVERED = "delivered"
    """Every delivery of it ended, and at least one succeeded."""
    WAITING = "waiting"
    """In the uncommitted part of `outbox.events`, or a delivery of it waits in a tier or for redelivery."""
    DEAD = "dead"
    """It is a dead letter, or a delivery of it is, and none waits."""
    CANCELLED = "cancelled"
    """All of its targets were deleted before they got it."""
    UNWANTED = "unwanted"
    """No target wanted it, and that is meant so."""
    NOT_ON_KAFKA = "not-on-kafka"
    NO_OUTCOME = "no-outcome"
    TARGET_MISSING = "target-missing"
    WAIT_LOST = "wait-lost"
    LETTER_LOST = "letter-lost"


ACCOUNTED: Final = (
    Verdict.DELIVERED,
    Verdict.WAITING,
    Verdict.DEAD,
    Verdict.CANCELLED,
    Verdict.UNWANTED,
)

REASONS: Final[Mapping[Verdict, str]] = {
    Verdict.NOT_ON_KAFKA: "its row was committed, and no record of it is on outbox.events, nor any outcome",
    Verdict.NO_OUTCOME: "the workers have settled it, and there is neither a delivery nor a dead letter",
    Verdict.TARGET_MISSING: "the workers have settled it, and a target that wants it has no delivery",
    Verdict.WAIT_LOST: "the log says that a delivery waits, and its record is in no retry tier, nor on redelivery",
    Verdict.LETTER_LOST: "the log says that a delivery is a dead letter, and there is no such dead letter",
}

_OUTCOME: Final = (
    Fact.SUCCEEDED
    | Fact.CANCELLED
    | Fact.BURIED
    | Fact.WAITS
    | Fact.WAIT_LOST
    | Fact.LETTER_LOST
    | Fact.WHOLE_LETTER
    | Fact.ROUTED_AGAIN
)


def judge(facts: Fact) -> Verdict:
    """Say what became of an event.

    >>> judge(Fact.HAS_ROW | Fact.ON_KAFKA | Fact.SUCCEEDED).value
    'delivered'
    >>> judge(Fact.HAS_ROW | Fact.ON_KAFKA).value, judge(Fact.HAS_ROW).value
    ('no-outcome', 'not-on-kafka')
    """
    if Fact.IN_FLIGHT in facts:
        return Verdict.WAITING
    if not facts & _OUTCOME:
        return _without_outcome(facts)
    return _broken(facts) or _ended(facts)


def counted_verdicts(counts: Mapping[int, int]) -> Mapping[Verdict, int]:
    """How many events have each verdict, by how many have each set of facts."""
    verdicts = dict.fromkeys(Verdict, 0)
    for facts, number in counts.items():
        verdicts[judge(Fact(facts))] += number
    return verdicts


def breaking(counts: Mapping[int, int]) -> Mapping[int, Verdict]:
    """The sets of facts that break INV-1, with their verdicts."""
    judged = {facts: judge(Fact(facts)) for facts in counts}
    return {facts: verdict for facts, verdict in judged.items() if verdict not in ACCOUNTED}


def _without_outcome(facts: Fact) -> Verdict:
    if Fact.ON_KAFKA not in facts:
        return Verdict.NOT_ON_KAFKA
    if Fact.UNWANTED in facts and Fact.EXPECTED not in facts:
        return Verdict.UNWANTED
    return Verdict.NO_OUTCOME


def _broken(facts: Fact) -> Verdict | None:
    if Fact.WAIT_LOST in facts:
        return Verdict.WAIT_LOST
    if Fact.LETTER_LOST in facts:
        return Verdict.LETTER_LOST
    # Of a whole letter nobody knew a target at its time, or could have read it.
    if Fact.TARGET_MISSING in facts and not facts & (Fact.WHOLE_LETTER | Fact.ROUTED_AGAIN):
        return Verdict.TARGET_MISSING
    return None


def _ended(facts: Fact) -> Verdict:
    if facts & (Fact.WAITS | Fact.ROUTED_AGAIN):
        return Verdict.WAITING
    if Fact.BURIED in facts:
        return Verdict.DEAD
    if Fact.SUCCEEDED in facts:
        return Verdict.DELIVERED
    return Verdict.CANCELLED if Fact.CANCELLED in facts else Verdict.DEAD
