"""The rows of the outbox table that are still there, read in the order of their times, a page at a time.

Place in the data's way: behind it. A replay reads here what Kafka has deleted. Invariants: each page is one statement,
bounded in rows and bytes, and no transaction outlives it; whoever goes on behind the last row of a page leaves out none
that was there. Must not: write anything, nor say what a row means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors

__all__ = ["KeptRow", "KeptRows", "RowPosition"]

#: A table of this size is sorted in a moment.
_SMALL_BYTES: Final = 64 * 1024 * 1024
_ROWS: Final = 500
_COUNTED: Final = 1_000_000
_BYTES: Final = 8 * 1024 * 1024
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HALF: Final = 64

_TABLES: Final = """
select 'outbox.outbox'::regclass as id union select relid from pg_partition_tree('outbox.outbox') where isleaf
"""
# Constants, here and below; values are passed as parameters. Each part of a table in parts has its own indexes.
_CAN_BE_PAGED: Final = f"""
select coalesce(sum(pg_relation_size(parts.id)), 0) <= %(small)s or bool_and(exists (
    select from pg_index indexed
    join pg_attribute first on first.attrelid = indexed.indrelid and first.attnum = indexed.indkey[0]
    join pg_class index on index.oid = indexed.indexrelid
    join pg_am on pg_am.oid = index.relam and pg_am.amname = 'btree'
    where indexed.indrelid = parts.id and indexed.indisvalid and indexed.indpred is null
        and first.attname = 'created_at'
))
from ({_TABLES}) as parts
join pg_class on pg_class.oid = parts.id and pg_class.relkind = 'r'
"""  # noqa: S608
_OLDEST: Final = "select min(created_at) from outbox.outbox"
_AFTER: Final = """
from outbox.outbox where (created_at, id) > (%(after_at)s, %(after_id)s) and created_at < %(end)s
"""
_COUNT: Final = f"select count(*) from (select {_AFTER} limit %(most)s) as counted"  # noqa: S608
_GUESS: Final = f"explain (format json) select {_AFTER}"
# The sum sees to it that a page of the largest payloads stays as small as one that Kafka would send. A payload is
# not read for it: its length stands beside it. What is left over of the rows is the first of them, whatever its size.
_PAGE: Final = f"""
select id, channel, type, aggregate_type, aggregate_id, payload, content_type, headers::text, created_at from (
    select *, sum(bytes) over (order by created_at, id) - bytes as before from (
        select *, coalesce(octet_length(payload), 0) as bytes {_AFTER} order by created_at, id limit %(most)s
    ) as next
) as summed
where before <= %(bytes)s
order by created_at, id
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRow:
    """A row as it was committed. `headers` is the text that Postgres makes of them."""

    id: UUID
    channel: str
    type: str
    aggregate_type: str
    aggregate_id: str
    payload: str | None = field(repr=False)
    content_type: str
    headers: str = field(repr=False)
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPosition:
    """Behind which row a reading goes on.

    Written down as a replay's other progress is, whole numbers under numbers: 0 the microseconds since 1970, 1 and 2
    the halves of the id.

    >>> at = RowPosition(created_at=datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC), id=UUID(int=1 << 127 | 5))
    >>> at.to_offsets()
    {0: 1772366400000001, 1: 9223372036854775808, 2: 5}
    >>> RowPosition.from_offsets(at.to_offsets()) == at
    True
    """

    created_at: datetime
    id: UUID

    @classmethod
    def before(cls, moment: datetime) -> RowPosition:
        """Behind all rows that are older than this, and before all others."""
        if moment - _FIRST < _MICROSECOND:
            return cls(created_at=_FIRST, id=UUID(int=0))  # nothing is older
        return cls(created_at=moment - _MICROSECOND, id=UUID(int=(1 << 128) - 1))

    @property
    def end(self) -> datetime:
        """The time that `before` was given."""
        return self.created_at + _MICROSECOND

    def to_offsets(self) -> dict[int, int]:
        """As it is stored."""
        high, low = divmod(self.id.int, 1 << _HALF)
        return {0: (self.created_at - _EPOCH) // _MICROSECOND, 1: high, 2: low}

    @classmethod
    def from_offsets(cls, stored: Mapping[int, int]) -> RowPosition:
        """As it was stored."""
        return cls(created_at=_EPOCH + stored[0] * _MICROSECOND, id=UUID(int=stored[1] << _HALF | stored[2]))


class KeptRows:
    """The rows of one database, over a connection in autocommit mode that the caller owns.

    All methods raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def can_be_paged(self, *, small_bytes: int = _SMALL_BYTES) -> bool:
        """Whether the table is small enough to be sorted for each page, or has an index by time, in all its parts.

        A B-tree: any other kind gives rows in no order.
        """
        return self._value(_CAN_BE_PAGED, small=small_bytes) is True

    def oldest(self) -> datetime | None:
        """When the oldest row that is there was written; None where there is none."""
        found: datetime | None = self._value(_OLDEST)
        return None if found is None else found.astimezone(UTC)

    def count(self, after: RowPosition, *, end: datetime, exactly: int = _COUNTED) -> int:
        """How many rows there are behind a position and before a time, of all channels.

        Of more than `exactly`, what Postgres guesses: to count them all would take as long as to read them.
        """
        between = _between(after, end)
        count: int = self._value(_COUNT, **between, most=exactly + 1)
        if count <= exactly:
            return count
        (guess,) = self._value(_GUESS, **between)
        return max(count, int(guess["Plan"]["Plan Rows"]))

    def page(self, after: RowPosition, *, end: datetime) -> Sequence[KeptRow]:
        """The next rows; none only where there are no more."""
        values = {**_between(after, end), "most": _ROWS, "bytes": _BYTES}
        names = KeptRow.__dataclass_fields__
        with statement_errors(), self._cursor() as rows:
            return [KeptRow(**dict(zip(names, row, strict=True))) for row in rows.execute(_PAGE, values)]

    def _value(self, statement: LiteralString, **values: object) -> Any:
        with statement_errors(), self._cursor() as rows:
            row = rows.execute(statement, values).fetchone()
        return None if row is None else row[0]

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


def _between(after: RowPosition, end: datetime) -> dict[str, object]:
    return {"after_at": after.created_at, "after_id": after.id, "end": end}
