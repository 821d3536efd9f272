"""Writing the delivery log: rows by COPY, each attempt once, and of what is said of a delivery the greatest rank.

Place in the data's way: after the recorder's fold, before the tables that `DeliveryLog` reads. Invariants: a batch is
one transaction, and writing one again, in any order and beside another writer, changes nothing: attempts are unique
by their id, a delivery's row only gives way to a greater rank, endpoints' health is joined. Rows are written in one
order by everybody, so two writers never wait for each other in a circle. Must not: decide what is kept, or how a
delivery stands.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql

from connectors.postgres.audit import AuditLog
from connectors.postgres.connection import SILENCE_PARAMETERS, connect, reason, statement_errors
from connectors.postgres.endpoint_health import EndpointTurn, JudgedEndpoint
from connectors.postgres.endpoint_health_writer import keep_health
from connectors.postgres.errors import RowRefusedError, StatementFailedError
from connectors.postgres.log_partitions import drop_days_before, make_days
from connectors.postgres.log_rows import RANK, AttemptRow, DeliveryRow

__all__ = ["DeliveryLogWriter"]

_PARAMETERS: Final = {"application_name": "outbox-recorder", **SILENCE_PARAMETERS}
_SESSION: Final = (
    # Nothing here takes a second; what does is waiting for somebody's lock, and is better tried again.
    "set statement_timeout = '60s'",
    # The stage keeps nothing between batches, and no WAL is written of it.
    "create temporary table stage_attempts (like outbox.attempts) on commit delete rows",
    "create temporary table stage_deliveries (like outbox.deliveries) on commit delete rows",
)
_ATTEMPT: Final = ", ".join(AttemptRow._fields)
_DELIVERY: Final = ", ".join(DeliveryRow._fields)
_CHANGING: Final = tuple(
    name for name in DeliveryRow._fields if name not in {"created_at", "id", "event_id", "target"}
)
_KEEP_ATTEMPTS: Final = f"""
insert into outbox.attempts ({_ATTEMPT}) select {_ATTEMPT} from stage_attempts order by created_at, delivery_id, id
on conflict (created_at, delivery_id, id) do nothing
"""  # noqa: S608 - column names of ours, here and below
_KEEP_DELIVERIES: Final = f"""
insert into outbox.deliveries as known ({_DELIVERY})
select {_DELIVERY} from stage_deliveries order by created_at, id
on conflict (created_at, id) do update set {", ".join(f"{name} = excluded.{name}" for name in _CHANGING)}
where ({", ".join(f"excluded.{name}" for name in RANK)}) > ({", ".join(f"known.{name}" for name in RANK)})
"""  # noqa: S608
_TODAY: Final = "select (now() at time zone 'UTC')::date"


class DeliveryLogWriter:
    """The log in one database, over a connection of its own: opened when needed, anew after an error. One thread's.

    Every method raises `DatabaseUnreachableError` when Postgres is away, `SchemaMissingError` before `outbox setup`,
    and `StatementFailedError` for what else it refuses; after each of these it can be called again.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        self._known_days: set[date] = set()

    def today(self) -> date:
        """The day in UTC by the clock of Postgres, which also said when the events were committed."""
        with self._connected() as connection:
            row = connection.execute(_TODAY).fetchone()
        assert row is not None  # noqa: S101 - a select without a table has one row
        return date.fromisoformat(str(row[0]))

    def write(
        self,
        attempts: Sequence[AttemptRow],
        deliveries: Sequence[DeliveryRow],
        turns: Sequence[EndpointTurn] = (),
    ) -> Sequence[JudgedEndpoint]:
        """Write a batch: all of it or nothing. Deliveries are those of the attempts, each once; attempts may repeat.

        Returns the endpoints that `turns` speak of, as they are then.

        Raises:
            RowRefusedError: Postgres can't store one of them.
        """
        self.make_days({row.created_at.date() for row in attempts})
        with self._connected() as connection, connection.transaction():
            _copy(connection, "stage_attempts", AttemptRow._fields, attempts)
            _copy(connection, "stage_deliveries", DeliveryRow._fields, deliveries)
            connection.execute(_KEEP_ATTEMPTS)
            connection.execute(_KEEP_DELIVERIES)
            # Last: who enables an endpoint waits for no more than this.
            return keep_health(connection, turns)

    def make_days(self, days: Collection[date]) -> None:
        """Have partitions for these days."""
        missing = set(days) - self._known_days
        if missing:
            with self._connected() as connection:
                make_days(connection, missing)
            self._known_days |= missing

    def drop_days_before(self, oldest: date) -> tuple[str, ...]:
        """Drop the partitions of the days before this one, and return their names."""
        with self._connected() as connection:
            # Who reads an old day at length is not waited for: meanwhile nothing would be written.
            connection.execute("set statement_timeout = '10s'")
            dropped = drop_days_before(connection, oldest)
            connection.execute(_SESSION[0])
        self._known_days = {day for day in self._known_days if day >= oldest}
        return dropped

    def prune_audit(self) -> int:
        """Delete the audit entries that are too old, oldest first, and return how many there were."""
        with self._connected() as connection:
            return AuditLog(connection).prune()

    def close(self) -> None:
        """Close the connection. It would be opened again."""
        connection, self._connection = self._connection, None
        self._known_days.clear()  # somebody may drop partitions until it is open again
        if connection is not None:
            connection.close()

    @contextmanager
    def _connected(self) -> Generator[psycopg.Connection[Any]]:
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
            self._connection = connection  # closed by `_connected` if what follows fails
            connection.autocommit = True
            for statement in _SESSION:
                connection.execute(statement)
        return self._connection


def _lacks_partition(error: psycopg.Error) -> bool:
    """Somebody dropped, or detached, the day since it was made: that is no fault of the row, and it is made again.

    Postgres reports it as a check that failed (23514), but names no constraint.
    """
    return isinstance(error, pg_errors.CheckViolation) and error.diag.constraint_name is None


def _copy(
    connection: psycopg.Connection[Any],
    table: str,
    columns: Iterable[str],
    rows: Iterable[AttemptRow | DeliveryRow],
) -> None:
    statement = sql.SQL("copy {} ({}) from stdin").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
