"""The schema `outbox` and its migrations: what is pending, and applying it.

The migrations are the `.sql` files beside this module, applied by yoyo in the order of their names, each in a
transaction. yoyo commits a migration before it records it, so a run that is killed between the two applies it
again: **every migration must be repeatable** (`if not exists`, `or replace`), and additive, since programs of the
version before still run when it is applied.

Any number of processes may migrate at once: one does, the others wait and find nothing left.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from yoyo import read_migrations

from connectors.postgres.connection import address, connect, connection_parameters, reason, statement_errors
from connectors.postgres.errors import DatabaseUnsuitableError, MigrationError
from connectors.postgres.migration_backend import MIGRATION_TABLE, MigrationBackend

__all__ = ["SCHEMA", "migrate", "pending"]

SCHEMA: Final = "outbox"

_SOURCE: Final = "package:connectors.postgres:migrations"
_LEAST_VERSION: Final = 140000
_LOCK_TIMEOUT: Final = "60s"

# "outbox" in ASCII. An advisory lock is one database's, and ends with the transaction, and so with the
# process.
_TAKE_LOCK: Final = f"select pg_advisory_xact_lock({int.from_bytes(b'outbox')})"
_SET_LOCK_TIMEOUT: Final = f"set local lock_timeout = '{_LOCK_TIMEOUT}'"

# `create schema if not exists` asks for the right to create one even where it exists.
_SCHEMA_EXISTS: Final = "select to_regnamespace('outbox') is not null"
_CREATE_SCHEMA: Final = "create schema outbox"

_MIGRATION_TABLE_EXISTS: Final = f"select to_regclass('{SCHEMA}.{MIGRATION_TABLE}') is not null"
_APPLIED: Final = f"select migration_id from {SCHEMA}.{MIGRATION_TABLE}"  # noqa: S608 - constants


def pending(url: str) -> tuple[str, ...]:
    """Return the names of the migrations that `migrate` would apply, in order. Changes nothing.

    Raises:
        DatabaseUrlError, DatabaseUnreachableError: as `connect`.
        DatabaseUnsuitableError: the server or the database can't hold the schema.
        StatementFailedError: the role may not look.
    """
    with connect(url) as connection, statement_errors():
        _check_database(connection, url)
        return _pending(connection)


def migrate(url: str) -> tuple[str, ...]:
    """Bring the schema up to date, and return the names of the migrations that it took, in order.

    Raises:
        DatabaseUrlError, DatabaseUnreachableError, DatabaseUnsuitableError: as `pending`.
        MigrationError: one failed, or another run has held the lock for a minute.
        StatementFailedError: the role may not create the schema.
    """
    with connect(url) as connection, statement_errors():
        _check_database(connection, url)
        with _only_one(connection, url):
            names = _pending(connection)
            if names:
                _create_schema(url)
                _apply(url, names)
            return names


def _pending(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    applied: set[str] = set()
    if _truth(connection, _MIGRATION_TABLE_EXISTS):
        applied = {name for (name,) in connection.execute(_APPLIED)}
    return tuple(migration.id for migration in read_migrations(_SOURCE) if migration.id not in applied)


def _apply(url: str, names: tuple[str, ...]) -> None:
    migrations = {migration.id: migration for migration in read_migrations(_SOURCE)}
    with MigrationBackend.of(connection_parameters(url), schema=SCHEMA) as backend:
        for name in names:
            try:
                backend.apply_one(migrations[name])
            except pg_errors.LockNotAvailable as error:
                raise MigrationError(
                    f"Migration {name} at {address(url)} needs a table that another transaction has held for longer "
                    "than a migration waits: behind it, the application's own transactions would wait too. Nothing of "
                    "it was kept, and those before it were. Run `outbox setup` again when that transaction has ended "
                    "(pg_stat_activity shows the old ones; pg_blocking_pids who holds up whom)."
                ) from error
            except psycopg.Error as error:
                raise MigrationError(
                    f"Migration {name} failed at {address(url)}: {reason(error)}. "
                    "Nothing of it was kept, and those before it were. Correct the cause (often a right that "
                    "the role lacks: it must own the schema outbox and may CREATE in the database), and run "
                    "`outbox setup` again."
                ) from error


def _create_schema(url: str) -> None:
    # On a connection of its own: committed before the migrations, while the lock's transaction stays open.
    with connect(url) as connection:
        if not _truth(connection, _SCHEMA_EXISTS):
            connection.execute(_CREATE_SCHEMA)


@contextmanager
def _only_one(connection: psycopg.Connection[Any], url: str) -> Generator[None]:
    with connection.transaction():
        connection.execute(_SET_LOCK_TIMEOUT)
        try:
            connection.execute(_TAKE_LOCK)
        except pg_errors.LockNotAvailable as error:
            raise MigrationError(
                f"Another run of `outbox setup` has been migrating {address(url)} for more than "
                f"{_LOCK_TIMEOUT}. Wait for it, or end it (pg_locks shows who holds the advisory lock), and "
                "try again."
            ) from error
        yield


def _check_database(connection: psycopg.Connection[Any], url: str) -> None:
    if connection.info.server_version < _LEAST_VERSION:
        raise DatabaseUnsuitableError(
            f"{address(url)} is PostgreSQL {connection.info.server_version // 10000}. The outbox needs 14 or "
            "newer."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise DatabaseUnsuitableError(
            f"The database {address(url)} is encoded in {encoding}. The outbox needs UTF8, or it can't keep "
            "a payload as it was: create a database with `encoding 'UTF8' template template0`."
        )


def _truth(connection: psycopg.Connection[Any], query: str) -> bool:
    row = connection.execute(query).fetchone()
    return row is not None and row[0] is True
