"""Old rows of the outbox table: what stood there at a moment of the WAL, and deleting it, a few pages at a time.

Place in the data's way: behind it. Debezium has read a row's insert from the WAL long before the row goes, and deletes
are not published. Invariants: a row goes only if its transaction had ended when the mark was set, so that its insert
lies before the mark's position; whoever lets rows go must have seen that position confirmed. Every statement is a
transaction of its own, bounded in pages and rows, and waits for no row: what somebody holds stays. All of it may be
broken off anywhere, and run by two at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors
from connectors.postgres.errors import DatabaseUnsuitableError

__all__ = ["Mark", "OutboxRows", "Pages", "Passed"]

_PAGES: Final = 128
_ROWS: Final = 1_000

# The snapshot is taken before anything in the statement is computed, so the position is behind the commit of every
# transaction that had ended by then. The insert position, not the written one: with synchronous_commit off, what is
# visible may not have been written yet.
_MARK: LiteralString = """
select clock_timestamp() - %s, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint
"""
_PARTS: LiteralString = """
select s.nspname, c.relname, pg_relation_size(c.oid) / current_setting('block_size')::int
  from pg_class c join pg_namespace s on s.oid = c.relnamespace
 where c.relkind = 'r' and c.oid in (
           select 'outbox.outbox'::regclass union select relid from pg_partition_tree('outbox.outbox') where isleaf
       )
 order by 1, 2
"""
# A deletion that a crash undoes is made again: nobody need wait for the disk.
_LIMITS: LiteralString = """
set local lock_timeout = '5s'; set local statement_timeout = '60s'; set local synchronous_commit = off
"""
# A row's transaction number has 32 bits, and stays when the row is frozen. One that is neither before the mark nor
# between the mark and now can't be: then it is from before the numbers went round.
_LATE: LiteralString = """
(xmin::text::bigint - %(horizon)s::bigint %% 4294967296 + 4294967296) %% 4294967296
    < pg_snapshot_xmax(pg_current_snapshot())::text::bigint - %(horizon)s::bigint
"""
_HERE: LiteralString = "ctid >= %(first)s::tid and ctid < %(past)s::tid and created_at < %(before)s"
_COUNT: LiteralString = """
select 0, count(*) filter (where not late), count(*) filter (where late)
  from (select {late} as late from only {part} where {here}) as due
"""
_DELETE: LiteralString = """
with due as materialized (
    select {late} as late from only {part} where {here}
), held as materialized (
    select ctid from only {part} where {here} and not ({late}) limit %(most)s for update skip locked
), gone as (
    delete from only {part} where ctid = any (array(select ctid from held)) returning 1
)
select (select count(*) from gone), count(*) filter (where not late), count(*) filter (where late) from due
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A moment: rows created before `before`, by transactions that had ended, stand in the WAL before `lsn`.

    `horizon` is the first transaction that may not have ended.
    """

    before: datetime
    horizon: int
    lsn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Some pages of the table, or of one of its partitions."""

    schema: str
    table: str
    first: int
    past: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What became of the old rows in some pages. `late` ones came after the mark; `held` ones somebody had locked.

    `due` are all but the late ones: in a count, what a deletion would delete.
    """

    deleted: int = 0
    due: int = 0
    late: int = 0

    @property
    def held(self) -> int:
        """Rows that were due and stay."""
        return self.due - self.deleted

    def __add__(self, other: Passed) -> Passed:
        """Both together."""
        return Passed(
            deleted=self.deleted + other.deleted, due=self.due + other.due, late=self.late + other.late
        )


class OutboxRows:
    """The old rows of one database's outbox, over a connection in autocommit mode that the caller owns.

    All methods raise PostgresError when Postgres refuses, or is gone.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def check_primary(self) -> None:
        """Say so first if rows can't be deleted here; a standby mostly has no slot either, and no setup helps that.

        Raises:
            DatabaseUnsuitableError: this is a standby.
        """
        with statement_errors(), self._cursor() as cursor:
            standby = cursor.execute("select pg_is_in_recovery()").fetchone()
        if standby is not None and standby[0]:
            raise DatabaseUnsuitableError(
                "This Postgres is a standby, where nothing can be deleted. Give OUTBOX_DATABASE_URL the primary."
            )

    def mark(self, *, older_than: timedelta) -> Mark:
        """Set the mark, by Postgres' clock."""
        with statement_errors(), self._cursor() as cursor:
            row = cursor.execute(_MARK, [older_than]).fetchone()
        assert row is not None  # noqa: S101 - a select without a table has one row
        return Mark(before=row[0], horizon=row[1], lsn=row[2])

    def pages(self) -> Iterator[Pages]:
        """All pages that there are now, some at a time. A partitioned table's are those of its partitions."""
        with statement_errors(), self._cursor() as cursor:
            parts = cursor.execute(_PARTS).fetchall()
        for schema, table, number in parts:
            for first in range(0, number, _PAGES):
                yield Pages(schema=schema, table=table, first=first, past=min(first + _PAGES, number))

    def count(self, pages: Pages, mark: Mark) -> Passed:
        """Count the old rows in some pages."""
        return self._run(_COUNT, pages, mark)

    def delete(self, pages: Pages, mark: Mark) -> Passed:
        """Delete the old rows in some pages that stand before the mark."""
        deleted = 0
        while True:
            passed = self._run(_DELETE, pages, mark)
            deleted += passed.deleted
            if passed.deleted < _ROWS:
                return Passed(deleted=deleted, due=deleted + passed.held, late=passed.late)

    def _run(self, statement: LiteralString, pages: Pages, mark: Mark) -> Passed:
        part = sql.Identifier(pages.schema, pages.table)
        query = sql.SQL(statement).format(part=part, late=sql.SQL(_LATE), here=sql.SQL(_HERE))
        values = {
            "first": f"({pages.first},0)",
            "past": f"({pages.past},0)",
            "before": mark.before,
            "horizon": mark.horizon,
            "most": _ROWS,
        }
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            cursor.execute(_LIMITS)
            row = cursor.execute(query, values).fetchone()
        assert row is not None  # noqa: S101 - counts are always one row
        return Passed(deleted=row[0], due=row[1], late=row[2])

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)
