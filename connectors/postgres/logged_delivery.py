"""What the delivery log says, and how it is asked: a delivery, its attempts, a page of deliveries, a query. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from connectors.postgres.log_rows import DeliveryStatus

__all__ = ["DeliveryPage", "DeliveryQuery", "LoggedAttempt", "LoggedDelivery"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDelivery:
    """One event × one target, as its newest attempt record says.

    Attributes:
        id: made of the event's id, its time and the target.
        created_at: when the event was committed, to the millisecond.
        origin: where the event was first read on Kafka: topic/partition/offset.
        attempts: how many were made so far, since the last replay.
        error_code: why it is a dead letter, or why the last attempt failed; the glossary has the codes.
        http_status: of an endpoint that answered the last attempt.
        next_attempt_at: when it is tried again, if it is.
        replay_id: which replay of the delivery this speaks of; None before any.
    """

    id: UUID
    created_at: datetime
    event_id: UUID
    event_type: str
    target: str
    origin: str
    status: DeliveryStatus
    attempts: int
    last_attempt_at: datetime
    next_attempt_at: datetime | None
    http_status: int | None
    error_code: str | None
    error: str | None
    replay_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAttempt:
    """One turn of a delivery. `outcome` and `next` as in the attempt record (docs/reference/records.md)."""

    id: UUID
    attempt: int
    deferrals: int
    replay_id: str | None
    started_at: datetime
    duration_ms: float
    outcome: str
    http_status: int | None
    error_code: str | None
    error: str | None
    excerpt: str | None
    next: str
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryQuery:
    """Which deliveries: all that is given must hold. Times are those of the events' commits; `until` is exclusive."""

    target: str | None = None
    event_id: UUID | None = None
    event_type: str | None = None
    statuses: frozenset[DeliveryStatus] = frozenset()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPage:
    """Deliveries, newest first. `next_cursor` leads to those after them; None when there are none."""

    deliveries: tuple[LoggedDelivery, ...]
    next_cursor: str | None
