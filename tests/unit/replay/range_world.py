"""What a range asks of Postgres and Kafka, in memory: events as records, or as rows of the outbox table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.kept_rows import KeptRow, RowPosition
from connectors.webhook.endpoint import Endpoint
from outbox.event import Event
from outbox.event_filter import EventFilter
from streams.errors import ReplayRefused
from streams.records.target import TargetName
from streams.replay.range_selection import RangeSelection
from streams.replay.range_source import RangeSource
from streams.replay.row_range import RowRange, row_bounds
from streams.replay.source import Start
from tests.unit.replay.replayed import HOUR, NOW, TARGET, Range, record
from tests.unit.replay.stepped_world import Step
from tests.unit.webhook.records import endpoint

__all__ = ["BILLING", "Ports", "Rows", "a_row", "selection"]

BILLING = TargetName("handler", "billing")


def selection(**changes: Any) -> RangeSelection:
    """All events of the last hour, for an endpoint and a handler."""
    fields: dict[str, Any] = {
        "begin": NOW - HOUR,
        "end": NOW,
        "targets": (TARGET, BILLING),
        "types": (EventFilter("*"),),
    }
    return RangeSelection(**fields | changes)


def a_row(event: Event, *, channel: str = "events") -> KeptRow:
    """The row that an event was."""
    return KeptRow(
        id=event.id,
        channel=channel,
        type=event.type,
        aggregate_type=event.aggregate_type,
        aggregate_id=event.aggregate_id,
        payload=event.payload.decode(),
        content_type=event.content_type,
        headers="{}",
        created_at=event.created_at,
    )


class Rows:
    """The outbox table in memory, in pages of so many rows."""

    def __init__(self, rows: Sequence[KeptRow], *, page: int = 3) -> None:
        self.rows = sorted(rows, key=lambda row: (row.created_at, row.id))
        self._page = page

    def oldest(self) -> datetime | None:
        return self.rows[0].created_at if self.rows else None

    def count(self, after: RowPosition, *, end: datetime) -> int:
        return len(self._between(after, end))

    def page(self, after: RowPosition, *, end: datetime) -> Sequence[KeptRow]:
        return self._between(after, end)[: self._page]

    def _between(self, after: RowPosition, end: datetime) -> list[KeptRow]:
        return [
            row
            for row in self.rows
            if (row.created_at, row.id) > (after.created_at, after.id) and row.created_at < end
        ]


class _Stepped(Range):
    """A reading of which each step can be the last."""

    def __init__(self, at_step: Step, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._at_step = at_step

    def read(self, most: int) -> Sequence[ReadRecord]:
        self._at_step("read")
        return super().read(most)


class Ports:
    """Ports of a range over these events, which lie on Kafka or in the table."""

    def __init__(
        self,
        chosen: RangeSelection,
        events: Sequence[Event | ReadRecord],
        *,
        at_step: Step = lambda _step: None,
        rows: Rows | None = None,
    ) -> None:
        self.records = [
            one if isinstance(one, ReadRecord) else record(one, offset) for offset, one in enumerate(events)
        ]
        self.chosen = chosen
        self.at_step = at_step
        self.rows = rows
        self.known = True
        self.found_endpoint: Endpoint | ReplayRefused = endpoint(event_types=("order.*",))

    def endpoints(self) -> Mapping[TargetName, Endpoint]:
        self.at_step("endpoints")
        if isinstance(self.found_endpoint, ReplayRefused):
            raise self.found_endpoint
        return {TARGET: self.found_endpoint}

    def changes_are_known(self) -> bool:
        return self.known

    def bounds(self) -> Start:
        self.at_step("plan")
        if self.rows is not None:
            return row_bounds(self.rows, self.chosen, now=NOW)  # type: ignore[arg-type]
        count = len(self.records)
        return Start(begins={0: 0}, ends={0: count}, to_read=count)

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Any:
        if self.rows is not None:
            return RowRange(
                self.rows,  # type: ignore[arg-type]
                begins=begins,
                ends=ends,
                partition_of=lambda _key: 0,
            )
        return _Stepped(self.at_step, self.records, begins, ends)

    def source(self) -> RangeSource:
        return RangeSource(self.chosen, ports=self)
