"""What sources are read from in memory: events as records, a reading of them, and a replay that has begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.stored_replay import NewReplay, Replay, ReplayKind
from outbox.event import Event
from streams.records.target import TargetName
from streams.records.wire import encode_event
from streams.replay.source import Start
from streams.topics import EVENTS
from tests.support.deliveries import an_event

__all__ = ["HOUR", "NOW", "TARGET", "Range", "a_replay", "events", "record"]

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
TARGET = TargetName("endpoint", "ep_1")


class Range:
    """A reading of records in memory, partition by partition."""

    def __init__(
        self, records: Sequence[ReadRecord], begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> None:
        self._left = [one for one in records if begins[one.partition] <= one.offset < ends[one.partition]]
        self.next_offsets = dict(begins)

    @property
    def done(self) -> bool:
        return not self._left

    def read(self, most: int) -> Sequence[ReadRecord]:
        given, self._left = self._left[:most], self._left[most:]
        for record in given:
            self.next_offsets[record.partition] = record.offset + 1
        return given

    def close(self) -> None:
        """Nothing."""


def record(event: Event, offset: int = 0) -> ReadRecord:
    """The event's record, as it lies on `outbox.events`."""
    headers: list[tuple[str, bytes | str | None]] = [*encode_event(event)]
    return ReadRecord(
        topic=EVENTS,
        partition=0,
        offset=offset,
        key=event.aggregate_id.encode(),
        value=event.payload,
        headers=headers,
    )


def a_replay(start: Start, *, kind: ReplayKind = "recovery") -> Replay:
    """A replay that has begun."""
    new = NewReplay(kind=kind, target=str(TARGET), selection={}, rate_per_s=100.0)
    return Replay(
        kind=new.kind,
        target=new.target,
        selection=new.selection,
        rate_per_s=new.rate_per_s,
        id="01900000-0000-7000-8000-000000000000",
        status="running",
        requested_by="tests",
        requested_at=NOW,
        started_at=NOW,
        ended_at=None,
        waits_for=None,
        warning=None,
        error=None,
        events_read=0,
        events_to_read=start.to_read,
        sent=0,
        skipped=0,
        next_offsets=start.begins,
        end_offsets=start.ends,
        sent_offsets={},
    )


def events(number: int, **changes: Any) -> list[Event]:
    """So many events of a minute ago."""
    return [
        an_event(id=UUID(int=index + 1), created_at=NOW - timedelta(minutes=1), **changes)
        for index in range(number)
    ]
