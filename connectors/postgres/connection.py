"""Connecting to Postgres, with errors that say where to and what to do.

The edge of this package: psycopg's exceptions end here.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import tuple_row

from connectors.postgres.errors import (
    DatabaseUnreachableError,
    DatabaseUrlError,
    LockHeldError,
    SchemaMissingError,
    StatementFailedError,
    StatementTimeoutError,
)

__all__ = [
    "SILENCE_PARAMETERS",
    "address",
    "connect",
    "connection_parameters",
    "database_time",
    "reason",
    "statement_errors",
]

CONNECT_TIMEOUT_S: Final = 10

SILENCE_PARAMETERS: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""For connections that are kept: a server that is gone without a word counts as lost after 25 s."""

_DEFAULTS: Final[dict[str, Any]] = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "outbox"}


def connection_parameters(url: str) -> dict[str, Any]:
    """Return libpq's parameters of a URL (or of a `key=value` string).

    Raises:
        DatabaseUrlError: libpq can't read it.
    """
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        # `from None`: libpq's message quotes the part that it stumbled over, which may be the password.
        raise DatabaseUrlError(
            "The database URL can't be read. Give postgresql://user:password@host:5432/dbname, with special "
            "characters in the password percent-encoded."
        ) from None


def address(url: str) -> str:
    """Return where a URL leads to, for messages: host, port and database, nothing else.

    >>> address("postgresql://app:hunter2@db.internal:6432/shop?sslmode=require")
    'db.internal:6432/shop'
    >>> address("postgresql:///shop")
    'the local socket/shop'
    """
    parameters = connection_parameters(url)
    host = parameters.get("host") or parameters.get("hostaddr") or "the local socket"
    port = f":{parameters['port']}" if parameters.get("port") else ""
    return f"{host}{port}/{parameters.get('dbname') or parameters.get('user') or ''}"


def connect(url: str, **defaults: object) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a connection; it waits `CONNECT_TIMEOUT_S` at most, unless the URL has a connect_timeout.

    Args:
        url: where to.
        defaults: libpq's parameters, where the URL has none of that name.

    Raises:
        DatabaseUrlError: the URL can't be read.
        DatabaseUnreachableError: nobody answers there, or the login failed.
    """
    parameters = connection_parameters(url)
    try:
        return psycopg.connect(**_DEFAULTS | defaults | parameters)
    except psycopg.Error as error:
        raise DatabaseUnreachableError(
            f"No connection to Postgres at {address(url)}: {reason(error)}. Check that it runs and can be "
            "reached from here, and the URL's user, password and database."
        ) from error


@contextmanager
def statement_errors() -> Generator[None]:
    """Turn psycopg's errors into this package's.

    Raises:
        SchemaMissingError: a table is not there, or a column of it.
        LockHeldError: somebody else held what it waited for.
        StatementTimeoutError: it was given no more time.
        DatabaseUnreachableError: the connection was lost.
        StatementFailedError: anything else.
    """
    try:
        yield
    except (pg_errors.UndefinedTable, pg_errors.UndefinedColumn, pg_errors.InvalidSchemaName) as error:
        raise SchemaMissingError(
            "The outbox's tables are not in this database, or are an older version's. Run `outbox setup`, or correct "
            "OUTBOX_DATABASE_URL."
        ) from error
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        # `from None`: its DETAIL quotes the row.
        raise StatementFailedError(f"Postgres refused ({error.sqlstate}): {reason(error)}.") from None
    except pg_errors.LockNotAvailable as error:
        raise LockHeldError(
            f"Postgres gave up a statement: {reason(error)}. Try again when nobody holds it up."
        ) from error
    except pg_errors.QueryCanceled as error:
        raise StatementTimeoutError(
            f"Postgres gave up a statement: {reason(error)}. Ask for less, or again when it has less to do."
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnreachableError(
            f"Postgres failed: {reason(error)}. Try again when it is back."
        ) from error
    except psycopg.Error as error:
        raise StatementFailedError(f"Postgres refused ({error.sqlstate}): {reason(error)}.") from error


def reason(error: psycopg.Error) -> str:
    """Return what happened, on one line and without the DETAIL."""
    text = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(text.split()).rstrip(".?")


def database_time(connection: psycopg.Connection[Any]) -> datetime:
    """The time by Postgres' clock, in UTC."""
    with statement_errors(), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute("select clock_timestamp()").fetchone()
    assert row is not None  # noqa: S101 - a select without a table has one row
    moment: datetime = row[0]
    return moment.astimezone(UTC)
