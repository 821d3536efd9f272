"""Writing a log that is partitioned by day: one connection, opened when needed and anew after an error.

Place in the data's way: what the writers of the recorder have in common, beneath each of them. Must not: know what is
in the tables, or decide which days are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from datetime import date
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql

from connectors.postgres.connection import SILENCE_PARAMETERS, connect, reason, statement_errors
from connectors.postgres.errors import RowRefusedError, StatementFailedError
from connectors.postgres.log_partitions import Tables, drop_days_before, make_days

__all__ = ["DayWriter", "copy_rows"]

_PARAMETERS: Final = {"application_name": "outbox-recorder", **SILENCE_PARAMETERS}
#: Nothing here takes a second; what does is waiting for somebody's lock, and is better tried again.
_PATIENCE: Final = "set statement_timeout = '60s'"
_TODAY: Final = "select (now() at time zone 'UTC')::date"


class DayWriter:
    """Tables of one database that have a partition a day. One thread's.

    Every method raises `DatabaseUnreachableError` when Postgres is away, `SchemaMissingError` before `outbox setup`,
    and `StatementFailedError` for what else it refuses; after each of these it can be called again.

    Args:
        url: where they are.
        tables: their names.
        session: statements that a new connection begins with.
    """

    def __init__(self, url: str, *, tables: Tables, session: tuple[str, ...]) -> None:
        self._url = url
        self._tables = tables
        self._session = (_PATIENCE, *session)
        self._connection: psycopg.Connection[Any] | None = None
        self._known_days: set[date] = set()

    def today(self) -> date:
        """The day in UTC by the clock of Postgres, which also said when the events were committed."""
        with self.connected() as connection:
            row = connection.execute(_TODAY).fetchone()
        assert row is not None  # noqa: S101 - a select without a table has one row
        return date.fromisoformat(str(row[0]))

    def make_days(self, days: Collection[date]) -> None:
        """Have partitions for these days."""
        missing = set(days) - self._known_days
        if missing:
            with self.connected() as connection:
                make_days(connection, missing, tables=self._tables)
            self._known_days |= missing

    def drop_days_before(self, oldest: date) -> tuple[str, ...]:
        """Drop the partitions of the days before this one, and return their names."""
        with self.connected() as connection:
            # Who reads an old day at length is not waited for: meanwhile nothing would be written.
            connection.execute("set statement_timeout = '10s'")
            dropped = drop_days_before(connection, oldest, tables=self._tables)
            connection.execute(_PATIENCE)
        self._known_days = {day for day in self._known_days if day >= oldest}
        return dropped

    def close(self) -> None:
        """Close the connection. It would be opened again."""
        connection, self._connection = self._connection, None
        self._known_days.clear()  # somebody may drop partitions until it is open again
        if connection is not None:
            connection.close()

    @contextmanager
    def connected(self) -> Generator[psycopg.Connection[Any]]:
        """The connection, for one piece of work. What fails closes it: the next begins with a sound one."""
        try:
            with statement_errors():
                connection = self._open()
                try:
                    yield connection
                except (psycopg.IntegrityError, psycopg.DataError, pg_errors.ProgramLimitExceeded) as error:
                    if _lacks_partition(error):
                        raise StatementFailedError(
                            f"Postgres has no partition for a day: {reason(error)}."
                        ) from None
                    # `from None`: its DETAIL quotes the row.
                    raise RowRefusedError(f"Postgres refused ({error.sqlstate}): {reason(error)}.") from None
        except BaseException:
            self.close()
            raise

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            connection = connect(self._url, **_PARAMETERS)
            self._connection = connection  # closed by `connected` if what follows fails
            connection.autocommit = True
            for statement in self._session:
                connection.execute(statement)
        return self._connection


def _lacks_partition(error: psycopg.Error) -> bool:
    """Somebody dropped, or detached, the day since it was made: that is no fault of the row, and it is made again.

    Postgres reports it as a check that failed (23514), but names no constraint.
    """
    return isinstance(error, pg_errors.CheckViolation) and error.diag.constraint_name is None


def copy_rows(
    connection: psycopg.Connection[Any],
    table: str,
    columns: Iterable[str],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    """COPY rows into a table, each with a value for each of the columns."""
    statement = sql.SQL("copy {} ({}) from stdin").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
