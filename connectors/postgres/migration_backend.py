"""yoyo's backend for Postgres, fitted to where it runs.

Four things are different from yoyo's own: it waits a few seconds for the lock on a table, and no longer (whoever wants
to append an event waits behind it); it takes libpq's parameters as they are (its own URL parser knows
neither several hosts nor `key=value` strings); it doesn't lock (a row in a lock table outlives a killed
process and then blocks every later one: `schema.migrate` holds an advisory lock instead); and its log needs
neither a name for the user id nor a reverse DNS look-up (a container may have none of both).
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from yoyo.backends import PostgresqlPsycopgBackend
from yoyo.connections import DatabaseURI

__all__ = ["MIGRATION_TABLE", "MigrationBackend"]

MIGRATION_TABLE: Final = "_yoyo_migration"

_SET_LOCK_TIMEOUT: Final = "set lock_timeout = '3s'"


class MigrationBackend(PostgresqlPsycopgBackend):  # type: ignore[misc] # yoyo has no types
    """A connection that migrations are applied through; yoyo's own tables are in the given schema too."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any], *, schema: str) -> MigrationBackend:
        """Connect, by libpq's parameters."""
        arguments = {name: value for name, value in parameters.items() if name != "dbname"}
        uri = DatabaseURI(
            scheme="postgresql+psycopg",
            username=None,
            password=None,
            hostname=None,
            port=None,
            database=parameters.get("dbname"),
            args=arguments | {"schema": schema},
        )
        return cls(uri, MIGRATION_TABLE)

    def init_connection(self, connection: Any) -> None:
        """Set the schema, and the limit of a wait for a table."""
        super().init_connection(connection)
        connection.execute(_SET_LOCK_TIMEOUT)

    def lock(self, timeout: float = 0) -> AbstractContextManager[None]:  # noqa: ARG002 - yoyo's signature
        """Do nothing: whoever uses this holds the lock already."""
        return contextlib.nullcontext()

    def get_log_data(self, migration: Any = None, operation: str = "apply") -> dict[str, Any]:
        """Return a line of yoyo's log table."""
        return {
            "id": str(uuid4()),
            "migration_id": migration.id if migration else None,
            "migration_hash": migration.hash if migration else None,
            "username": str(os.getuid()),
            "hostname": socket.gethostname(),
            "created_at_utc": datetime.now(UTC).replace(tzinfo=None),
            "operation": operation,
        }
