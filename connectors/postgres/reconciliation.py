"""What is known of each event of a time, put together inside Postgres: rows, log, dead letters, and what Kafka has.

Place in the data's way: beside it; `outbox verify` fills these tables and asks. What Kafka has is copied into temporary
tables of the session, so that a million events are joined where most of them lie, and nobody's memory has to
hold them: Postgres' own is bounded by work_mem, and it goes on in temporary files.

Invariants: the session can't write to any table but its own temporary ones, since Postgres refuses it; it takes
no lock that a writer would wait for; no statement is longer than its limit. Must not: judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres import reconciliation_statements as sql
from connectors.postgres.connection import statement_errors
from connectors.postgres.day_writer import copy_rows

__all__ = ["ExpectedTarget", "FoundEvent", "HeldDelivery", "JudgedEvent", "Period", "Reconciliation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Events of [since, until), in whole milliseconds, as the log has them."""

    since: datetime
    until: datetime


class FoundEvent(NamedTuple):
    """An event as it stands on `outbox.events`. `id` is text that is a UUID; `type` has no NUL."""

    id: str
    type: str
    created_at: datetime
    in_flight: bool
    unwanted: bool


class HeldDelivery(NamedTuple):
    """A delivery whose record waits on Kafka. No target: for whoever wants the event. No replay: the first run."""

    event_id: str
    target: str
    replay_id: str


class ExpectedTarget(NamedTuple):
    """A target that wants all events of a type that were committed from this moment on."""

    type: str
    target: str
    since: datetime


class JudgedEvent(NamedTuple):
    """An event, and all that is known of it."""

    id: UUID
    type: str
    created_at: datetime
    facts: int


class Reconciliation:
    """One session's tables, and the questions to them, to be called in the order in which they stand here.

    All raise `SchemaMissingError`, `StatementTimeoutError`, `DatabaseUnreachableError` or `StatementFailedError`.

    Args:
        connection: its own, in autocommit mode; to a server that can be written to, for temporary tables.
        period: which events.
        statement_limit: how long one statement may take.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], period: Period, *, statement_limit: timedelta
    ) -> None:
        self._connection = connection
        self._values: dict[str, object] = {"since": period.since, "until": period.until}
        with statement_errors():
            connection.execute(
                "select set_config('statement_timeout', %s, false)",
                (str(round(statement_limit.total_seconds() * 1000)),),
            )
            for statement in (*sql.SESSION, sql.TABLES, sql.READ_ONLY):
                connection.execute(statement)

    def take_rows(self) -> int:
        """Take the committed rows, and return the position in the WAL by which all of them were written."""
        self._run(sql.TAKE_ROWS)
        self._run(sql.ANALYZE_ROWS)
        return int(self._one(sql.WAL_POSITION))

    def add_found(self, events: Iterable[FoundEvent]) -> None:
        """Add events that are on Kafka; one that is there twice may be given twice."""
        with statement_errors():
            copy_rows(self._connection, "verify_found", FoundEvent._fields, events)

    def missing(self) -> int:
        """How many of the rows are not on Kafka, and have left no trace of having been there."""
        self._run(sql.ANALYZE_FOUND)
        return int(self._one(sql.COUNT_MISSING))

    def confirmed(self, slot: str) -> int | None:
        """Up to which position in the WAL the slot's reader has everything; None where there is no slot."""
        with statement_errors(), self._cursor() as cursor:
            row = cursor.execute(sql.CONFIRMED, {"slot": slot}).fetchone()
        return None if row is None or row[0] is None else int(row[0])

    def take_open(self, *, letters_since: datetime) -> None:
        """Take the deliveries that the log says wait, and those that it says are dead letters since then."""
        self._run(sql.TAKE_OPEN, letters_since=letters_since)

    def add_held(self, deliveries: Iterable[HeldDelivery]) -> None:
        """Add deliveries that wait on Kafka."""
        with statement_errors():
            copy_rows(self._connection, "verify_held", HeldDelivery._fields, deliveries)

    def types(self) -> Sequence[str]:
        """The types of the events."""
        with statement_errors(), self._cursor() as cursor:
            return [name for (name,) in cursor.execute(sql.TYPES)]

    def add_expected(self, targets: Iterable[ExpectedTarget]) -> None:
        """Add targets that want events of these types."""
        with statement_errors():
            copy_rows(self._connection, "verify_expected", ExpectedTarget._fields, targets)

    def put_together(self, *, died_since: datetime, rows_only: bool) -> None:
        """Find the facts of each event: of all, or of those whose row is there.

        Args:
            died_since: no dead letter of them died before that moment.
            rows_only: leave out what is on Kafka alone.
        """
        for statement in sql.PUT_TOGETHER:
            self._run(statement, died_since=died_since, rows_only=rows_only)

    def counts(self) -> Mapping[int, int]:
        """How many events have each set of facts."""
        with statement_errors(), self._cursor() as cursor:
            return dict(cursor.execute(sql.COUNTS))

    def deliveries(self) -> Mapping[str, int]:
        """How many deliveries have each status, in the log."""
        with statement_errors(), self._cursor() as cursor:
            return dict(cursor.execute(sql.DELIVERIES, self._values))

    def events_of(self, facts: Iterable[int], *, most: int) -> Iterator[JudgedEvent]:
        """The events that have one of these sets of facts, oldest first, at most so many."""
        with statement_errors(), self._cursor() as cursor:
            cursor.execute(sql.EVENTS_OF, {"facts": list(facts), "most": most})
            yield from (JudgedEvent(*row) for row in cursor)

    def _run(self, statement: LiteralString, **values: object) -> None:
        with statement_errors():
            self._connection.execute(statement, self._values | values)

    def _one(self, statement: LiteralString) -> Any:
        with statement_errors(), self._cursor() as cursor:
            row = cursor.execute(statement, self._values).fetchone()
        assert row is not None  # noqa: S101 - a select of one value has one row
        return row[0]

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)
