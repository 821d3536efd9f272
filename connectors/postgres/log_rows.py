"""The rows of the delivery log, as they are written. Pure.

Tuples, in the order of the columns, because thousands a second of them go into COPY. Ids are texts in their canonical
form, which sorts as Postgres sorts the uuid. Texts hold nothing that Postgres can't: who makes a row sees to that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from typing import Final, Literal, NamedTuple

__all__ = ["RANK", "AttemptRow", "DeliveryRow", "DeliveryStatus"]

DeliveryStatus = Literal["pending", "retrying", "succeeded", "failed", "cancelled"]

RANK: Final = ("replay_id", "standing", "attempt", "deferrals", "last_attempt_at", "last_attempt_id")
"""The columns of a row's rank, in its order."""

_Rank = tuple[str, int, int, int, datetime, str]
_rank: Final[Callable[[object], _Rank]] = attrgetter(*RANK)


class AttemptRow(NamedTuple):
    """One turn of a delivery: a row of `outbox.attempts`. `created_at` is the event's."""

    created_at: datetime
    delivery_id: str
    id: str
    attempt: int
    deferrals: int
    replay_id: str
    started_at: datetime
    duration_ms: float
    outcome: str
    http_status: int | None
    error_code: str | None
    error: str | None
    excerpt: str | None
    next: str
    next_attempt_at: datetime | None


class DeliveryRow(NamedTuple):
    """A delivery, as one of its attempt records says it is: a row of `outbox.deliveries`."""

    created_at: datetime
    id: str
    event_id: str
    event_type: str
    target: str
    origin: str
    status: DeliveryStatus
    attempts: int
    error_code: str | None
    error: str | None
    http_status: int | None
    next_attempt_at: datetime | None
    replay_id: str
    standing: int
    attempt: int
    deferrals: int
    last_attempt_at: datetime
    last_attempt_id: str

    @property
    def rank(self) -> _Rank:
        """Of two rows of one delivery the one with the greater rank stands; the writer compares the same columns."""
        return _rank(self)
