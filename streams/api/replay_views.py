"""What the API answers of replays: one, and a page of them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from pydantic import ConfigDict, Field

from connectors.postgres.stored_replay import Replay, ReplayKind, ReplayStatus
from streams.api.views import NextCursor, View
from streams.replay.range_selection import EventsFrom
from streams.replay.selection import RecoverySelection

__all__ = ["RangeView", "ReplayView", "ReplaysPage", "replay_view", "replays_page"]


class RangeView(View):
    """Which events a range sends, and to whom, as it was asked for, and is stored."""

    # `from` is no name in Python; it is one in JSON.
    model_config = ConfigDict(serialize_by_alias=True)

    begin: datetime = Field(alias="from")
    end: datetime = Field(alias="to")
    types: list[str]
    aggregates: list[str]
    ids: list[UUID]
    targets: list[str]
    source: EventsFrom


class ReplayView(View):
    """Deliveries that somebody asked to be made again, or after the fact, and how far that is."""

    id: UUID = Field(description="Receivers see it as `webhook-replay`. Later ones are greater.")
    kind: ReplayKind
    target: str | None = Field(
        description="`endpoint:<id>` or `handler:<name>`; null: of several dead letters, or for several targets."
    )
    delivery_id: UUID | None = Field(description="Of a resend: the delivery.")
    since: datetime | None = Field(description="Of a recovery: events committed from then on.")
    until: datetime | None = Field(
        description="Of a recovery: events committed before then; null: up to its start."
    )
    range: RangeView | None = Field(description="Of a range: which events, and to whom.")
    rate_per_s: float = Field(description="At most so many are sent a second.")
    status: ReplayStatus
    waits_for: str | None = Field(description="Why it gets no further just now, and what to do.")
    warning: str | None = Field(description="What it could not reach.")
    error: str | None = Field(description="Why it failed.")
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    events_read: int
    events_to_read: int | None = Field(description="Null until it has started.")
    sent: int = Field(description="Given to the workers. What became of them, the deliveries say.")
    skipped: int = Field(
        description="Read, and not sent: not wanted, delivered already, or under way; of a range for several targets, "
        "counted for each."
    )


class ReplaysPage(View):
    """Replays, newest first."""

    items: list[ReplayView]
    next_cursor: NextCursor


def replay_view(replay: Replay) -> ReplayView:
    """Show a replay."""
    recovery = RecoverySelection.from_json(replay.selection) if replay.kind == "recovery" else None
    delivery_id = replay.selection.get("delivery_id")
    return ReplayView(
        id=UUID(replay.id),
        kind=replay.kind,
        target=replay.target,
        delivery_id=None if delivery_id is None else UUID(delivery_id),
        since=None if recovery is None else recovery.since,
        until=None if recovery is None else recovery.until,
        range=RangeView.model_validate(replay.selection) if replay.kind == "range" else None,
        rate_per_s=replay.rate_per_s,
        status=replay.status,
        waits_for=replay.waits_for,
        warning=replay.warning,
        error=replay.error,
        requested_by=replay.requested_by,
        requested_at=replay.requested_at,
        started_at=replay.started_at,
        ended_at=replay.ended_at,
        events_read=replay.events_read,
        events_to_read=replay.events_to_read,
        sent=replay.sent,
        skipped=replay.skipped,
    )


def replays_page(replays: Sequence[Replay], *, next_cursor: str | None) -> ReplaysPage:
    """Show a page."""
    return ReplaysPage(items=[replay_view(replay) for replay in replays], next_cursor=next_cursor)
