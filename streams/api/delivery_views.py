"""What the API answers of the delivery log: a delivery, its attempts, a page.

Invariant: no payload is in a view; the log has none. A receiver's words (`excerpt`) may quote one.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from connectors.postgres.log_rows import DeliveryStatus
from connectors.postgres.logged_delivery import DeliveryPage, LoggedAttempt, LoggedDelivery
from streams.api.views import NextCursor, View

__all__ = [
    "AttemptView",
    "DeliveriesPage",
    "DeliveryDetail",
    "DeliveryView",
    "deliveries_page",
    "delivery_detail",
]

HttpStatus = Annotated[int | None, Field(description="If an endpoint answered.")]
ReplayId = Annotated[str | None, Field(description="Which replay this speaks of; null before any.")]
NextAttemptAt = Annotated[datetime | None, Field(description="When it is tried again, if it is.")]


class DeliveryView(View):
    """One event at one target, as its newest attempt record says."""

    id: UUID
    created_at: datetime = Field(description="When the event was committed, to the millisecond.")
    event_id: UUID
    event_type: str
    target: str = Field(description="`endpoint:<id>` or `handler:<name>`.")
    origin: str = Field(description="Where the event was first read on Kafka: topic/partition/offset.")
    status: DeliveryStatus
    attempts: int = Field(description="Made so far, of this replay.")
    last_attempt_at: datetime
    next_attempt_at: NextAttemptAt
    http_status: HttpStatus
    error_code: str | None = Field(description="Why it failed for good.")
    error: str | None = Field(description="The last error, or why it waits.")
    replay_id: ReplayId


class AttemptView(View):
    """One turn of a delivery: an attempt, a deferral, or its cancellation."""

    id: UUID
    attempt: int = Field(description="From 1, within a replay.")
    deferrals: int = Field(description="Waits before it that cost no attempt.")
    replay_id: ReplayId
    started_at: datetime
    duration_ms: float
    outcome: str = Field(description="succeeded, failed, rejected, interrupted, deferred or cancelled.")
    http_status: HttpStatus
    error_code: str | None
    error: str | None
    excerpt: str | None = Field(
        description="The receiver's words, at most 1 KB. They may quote what was sent to it."
    )
    next: str = Field(description="done, the retry topic, or dead-letter.")
    next_attempt_at: NextAttemptAt


class DeliveryDetail(DeliveryView):
    """A delivery with its attempts."""

    attempts_made: list[AttemptView] = Field(description="Its turns, oldest first; the newest 500 at most.")
    attempts_omitted: bool = Field(description="Whether there are older ones, which are not shown.")


class DeliveriesPage(View):
    """Deliveries, those of the newest events first."""

    items: list[DeliveryView]
    next_cursor: NextCursor


def deliveries_page(page: DeliveryPage) -> DeliveriesPage:
    """Show a page."""
    items = [DeliveryView(**asdict(delivery)) for delivery in page.deliveries]
    return DeliveriesPage(items=items, next_cursor=page.next_cursor)


def delivery_detail(
    delivery: LoggedDelivery, attempts: Sequence[LoggedAttempt], *, most: int
) -> DeliveryDetail:
    """Show a delivery and the newest of its attempts."""
    return DeliveryDetail(
        **asdict(delivery),
        attempts_made=[AttemptView(**asdict(attempt)) for attempt in attempts[-most:]],
        attempts_omitted=len(attempts) > most,
    )
