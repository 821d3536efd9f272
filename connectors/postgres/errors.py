"""Everything that `connectors.postgres` raises, in one tree.

::

    PostgresError
    ├── DatabaseUrlError           an address that libpq can't read
    ├── DatabaseUnreachableError   no connection, or one that was lost
    ├── DatabaseUnsuitableError    a server or a database that the outbox can't live in
    ├── SchemaMissingError         the tables aren't there: `outbox setup` has not run against this database
    ├── MigrationError             a migration that failed, or another run that doesn't end
    ├── SlotRefusedError           Postgres made no replication slot
    ├── StatementFailedError       anything else that Postgres refused
    ├── EndpointNotFoundError      no endpoint has that id
    └── EndpointExistsError        an endpoint has that id already

Messages name the host, the port and the database; never a password, a secret, a payload or a row. Postgres'
own DETAIL ("Failing row contains …") would show all of these: of its errors, only the primary message is
passed on.
"""

from __future__ import annotations

__all__ = [
    "DatabaseUnreachableError",
    "DatabaseUnsuitableError",
    "DatabaseUrlError",
    "EndpointExistsError",
    "EndpointNotFoundError",
    "MigrationError",
    "PostgresError",
    "SchemaMissingError",
    "SlotRefusedError",
    "StatementFailedError",
]


class PostgresError(Exception):
    """The root of everything that this connector raises."""


class DatabaseUrlError(PostgresError, ValueError):
    """An address that libpq can't read. Its text is never shown: it may hold a password."""


class DatabaseUnreachableError(PostgresError):
    """The server can't be connected to, or the connection was lost."""


class DatabaseUnsuitableError(PostgresError):
    """The server is too old, or the database is not encoded in UTF-8."""


class SchemaMissingError(PostgresError):
    """The outbox's tables are not in this database."""


class MigrationError(PostgresError):
    """A migration failed; what was applied before it stays applied, and a repeated run goes on from there."""


class SlotRefusedError(PostgresError):
    """Postgres made no replication slot; the message says what to do."""


class StatementFailedError(PostgresError):
    """Postgres refused a statement, for a reason that has no error of its own here."""


class EndpointNotFoundError(PostgresError, LookupError):
    """No endpoint has this id."""

    def __init__(self, endpoint_id: str) -> None:
        super().__init__(
            f"There is no endpoint {endpoint_id[:80]!r}. `outbox endpoints list` shows those there are."
        )
        self.endpoint_id = endpoint_id


class EndpointExistsError(PostgresError):
    """An endpoint has this id already."""

    def __init__(self, endpoint_id: str) -> None:
        super().__init__(
            f"There is an endpoint {endpoint_id!r} already. Update it, or add one under another id."
        )
        self.endpoint_id = endpoint_id
