"""The demo's numbers, each defined once: the live screen, the summary and the last line all count with this. Pure.

- *committed*: events whose transaction was committed. *rolled back*: those whose transaction was not.
- *delivered*: (event, target) with at least one success: a 2xx that the receiver gave, or a call that the handler noted
  and `outbox.attempts` calls succeeded.
- *retried*: attempts after the first, counted as distinct (event, target, attempt) that waited in a retry topic.
- *waiting*: deliveries whose latest turn ended in a retry topic.
- *dead-lettered*: records in `outbox.dead-letter`.
- *lost*: (event, target) that are neither delivered nor dead-lettered: at the end there may be none.
- *duplicates*: requests and calls beyond the expected attempts, and dead letters beyond one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demo.evidence import Evidence
from demo.expectation import Expectation

__all__ = ["Numbers", "Pair", "contacts", "count", "delivered_pairs"]

_RETRY_PREFIX = "outbox.retry-"

Pair = tuple[str, str | None]
"""An event's id and a target's name, or None for nobody: the identity of a delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """As defined above."""

    committed: int
    rolled_back: int
    delivered: int
    retried: int
    waiting: int
    dead_lettered: Mapping[str, int]
    """By error code."""
    lost: int
    duplicates: int


def count(expected: Sequence[Expectation], evidence: Evidence) -> Numbers:
    """Count what was seen so far."""
    delivered = delivered_pairs(evidence)
    buried = Counter((letter.event_id, letter.target) for letter in evidence.dead_letters)
    ended = delivered | buried.keys()
    return Numbers(
        committed=len(evidence.committed),
        rolled_back=len(evidence.rolled_back),
        delivered=len(delivered),
        retried=len(
            {
                (parked.event_id, parked.target, parked.attempt)
                for parked in evidence.parked
                if parked.attempt > 1
            }
        ),
        waiting=_waiting(evidence),
        dead_lettered=Counter(letter.code for letter in evidence.dead_letters),
        lost=sum((expectation.event_id, expectation.target) not in ended for expectation in expected),
        duplicates=_duplicates(expected, evidence) + sum(times - 1 for times in buried.values()),
    )


def contacts(evidence: Evidence) -> Counter[Pair]:
    """How often each target was asked to take each event."""
    asked: Counter[Pair] = Counter((receipt.event_id, receipt.target) for receipt in evidence.receipts)
    asked.update((call.event_id, call.target) for call in evidence.calls)
    return asked


def delivered_pairs(evidence: Evidence) -> set[Pair]:
    """The (event, target) that have succeeded, as the outside knows it."""
    called = {(call.event_id, call.target) for call in evidence.calls}
    succeeded = {
        (record.event_id, record.target) for record in evidence.attempts if record.outcome == "succeeded"
    }
    return {*evidence.successes(), *(called & succeeded)}


def _waiting(evidence: Evidence) -> int:
    latest = {(record.event_id, record.target): record.next for record in evidence.attempts}
    return sum(next_hop.startswith(_RETRY_PREFIX) for next_hop in latest.values())


def _duplicates(expected: Sequence[Expectation], evidence: Evidence) -> int:
    allowed = {(expectation.event_id, expectation.target): expectation.attempts for expectation in expected}
    return sum(max(times - allowed[pair], 0) for pair, times in contacts(evidence).items() if pair in allowed)
