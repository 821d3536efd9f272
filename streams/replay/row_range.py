"""A reading of the outbox table's rows, as the records that Debezium made of them when they were committed.

Place in the data's way: instead of `outbox.events`, for what Kafka has deleted. Invariant: of one row the record is the
same bytes as Debezium's (tests/integration/connect compares them), so that a receiver can't tell where a replay
read its event. Only its origin is another: the table, the key's partition, and no offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.kept_rows import KeptRow, KeptRows, RowPosition
from streams.replay.range_selection import RangeSelection
from streams.replay.source import Start

__all__ = ["TABLE", "RowRange", "record_of_row", "row_bounds"]

TABLE: Final = "outbox.outbox"
"""What stands as the topic in the origin of a delivery whose event was read from the table."""

_EVENTS: Final = "events"


def record_of_row(row: KeptRow, *, partition: int) -> ReadRecord:
    """The record that Debezium's outbox router makes of a row, with the configuration in debezium/connector.json."""
    headers: list[tuple[str, bytes | str | None]] = [
        ("id", str(row.id).encode()),
        ("type", row.type.encode()),
        ("aggregate-type", row.aggregate_type.encode()),
        ("content-type", row.content_type.encode()),
        ("headers", row.headers.encode()),
        ("created-at", _iso(row.created_at).encode()),
    ]
    return ReadRecord(
        topic=TABLE,
        partition=partition,
        offset=0,
        key=row.aggregate_id.encode(),
        value=None if row.payload is None else row.payload.encode(),
        headers=headers,
    )


def row_bounds(rows: KeptRows, selection: RangeSelection, *, now: datetime) -> Start:
    """From the selection's begin to its end, or to now; and what of it is not in the table any more."""
    begin = RowPosition.before(selection.begin)
    end = min(selection.end, now)
    oldest = rows.oldest()
    return Start(
        begins=begin.to_offsets(),
        ends=RowPosition.before(end).to_offsets(),
        to_read=rows.count(begin, end=end),
        warning=None if oldest is not None and oldest <= selection.begin else _pruned(selection, oldest),
    )


class RowRange:
    """One reading of one range: an `EventRange`.

    Args:
        rows: the table.
        begins: behind which row it begins, a `RowPosition`.
        ends: likewise, behind which it ends.
        partition_of: the partition of a key.
    """

    def __init__(
        self,
        rows: KeptRows,
        *,
        begins: Mapping[int, int],
        ends: Mapping[int, int],
        partition_of: Callable[[bytes], int],
    ) -> None:
        self._rows = rows
        self._given = self._fetched = RowPosition.from_offsets(begins)
        self._end = RowPosition.from_offsets(ends).end
        self._partition_of = partition_of
        self._waiting: deque[KeptRow] = deque()
        self.done = False

    @property
    def next_offsets(self) -> Mapping[int, int]:
        """The last row that was given out."""
        return self._given.to_offsets()

    def read(self, most: int) -> list[ReadRecord]:
        """The records of the next rows; none only where there are no more.

        A row of another channel has a record, too, that is no event: it was read, and is nobody's.
        """
        if not self._waiting:
            page = self._rows.page(self._fetched, end=self._end)
            self._waiting.extend(page)
            if not page:
                self.done = True
                return []
            self._fetched = _position(page[-1])
        given = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._given = _position(given[-1])
        return [self._record(row) for row in given]

    def close(self) -> None:
        """Nothing is open between two pages."""

    def _record(self, row: KeptRow) -> ReadRecord:
        record = record_of_row(row, partition=self._partition_of(row.aggregate_id.encode()))
        if row.channel != _EVENTS:
            record.headers.clear()
        return record


def _position(row: KeptRow) -> RowPosition:
    return RowPosition(created_at=row.created_at.astimezone(UTC), id=row.id)


def _iso(moment: datetime) -> str:
    """A time as Debezium writes it: in UTC, with six digits of a second."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def _pruned(selection: RangeSelection, oldest: datetime | None) -> str:
    begin = f"{selection.begin:%Y-%m-%dT%H:%M:%SZ}"
    if oldest is None:
        return f"the outbox table has no rows: what was committed since {begin} was pruned, or deleted by who appended"
    return (
        f"the oldest row of the outbox table is from {oldest:%Y-%m-%dT%H:%M:%SZ}: what was committed between {begin} "
        "and then was pruned, or deleted by who appended, and can't be sent"
    )
