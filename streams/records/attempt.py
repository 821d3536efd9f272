"""An attempt record: what `outbox.attempts` says of one turn of one delivery, as JSON.

One record a turn, deferrals and cancellations included, so that the log answers "did you send it?" and "why not?". It
never holds the payload, a secret or a URL (INV-9).
"""

from dataclasses import dataclass
from typing import Any, assert_never
from uuid import UUID

import orjson

from connectors.epoch import epoch_ms
from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, Done, NextHop, Retry
from streams.records.outcome import Cancelled, Deferred, Failed, Interrupted, Outcome, Rejected, Succeeded
from streams.records.wire import cut

__all__ = ["Attempt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One turn of a delivery: when, how long, what came of it, and what follows."""

    attempt_id: UUID
    delivery: Delivery
    outcome: Outcome
    next_hop: NextHop
    started_at_ms: int
    duration_ms: float

    def to_json(self) -> bytes:
        """The value of the record on `outbox.attempts`; docs/reference/records.md lists its fields."""
        delivery = self.delivery
        fields: dict[str, Any] = {
            "attempt_id": str(self.attempt_id),
            "event_id": str(delivery.event.id),
            "event_type": delivery.event.type,
            # The same in every record of a delivery: by it the log finds the delivery's row.
            "event_created_at_ms": epoch_ms(delivery.event.created_at),
            "target": str(delivery.target),
            "attempt": delivery.attempt,
            "deferrals": delivery.deferrals,
            "origin": str(delivery.origin),
            "replay_id": delivery.replay_id,
            "started_at_ms": self.started_at_ms,
            "duration_ms": self.duration_ms,
        }
        fields.update(outcome_fields(self.outcome))
        fields.update(next_hop_fields(self.next_hop))
        return orjson.dumps(fields)


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """What an outcome says, flat: the same names in attempt records and in the log."""
    match outcome:
        case Succeeded(status=status):
            return {"outcome": "succeeded", "status": status}
        case Failed(error=error, status=status, excerpt=excerpt):
            return {"outcome": "failed", "status": status, "error": cut(error), "excerpt": excerpt}
        case Rejected(code=code, error=error, status=status, excerpt=excerpt):
            return {
                "outcome": "rejected",
                "status": status,
                "code": code,
                "error": cut(error),
                "excerpt": excerpt,
            }
        case Interrupted(error=error):
            return {"outcome": "interrupted", "error": error}
        case Deferred(reason=reason):
            return {"outcome": "deferred", "error": reason}
        case Cancelled(reason=reason):
            return {"outcome": "cancelled", "error": reason}
        case _:
            assert_never(outcome)


def next_hop_fields(next_hop: NextHop) -> dict[str, Any]:
    """What follows, flat."""
    match next_hop:
        case Done():
            return {"next": "done"}
        case Retry(topic=topic, due_at_ms=due_at_ms, not_before_ms=not_before_ms):
            return {"next": topic, "next_attempt_at_ms": not_before_ms or due_at_ms}
        case DeadLetter(code=code):
            return {"next": "dead-letter", "code": code}
        case _:
            assert_never(next_hop)
