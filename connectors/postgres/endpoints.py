"""The endpoints, kept in Postgres, and told to the workers.

A worker never reads this table: it knows endpoints from `outbox.endpoints` on Kafka alone (INV-10). So every
change writes, in the same transaction, an outbox row on the channel `endpoints`: the endpoint's JSON, or
NULL, a tombstone, when it is removed. Debezium carries it over like any event. Changes of one endpoint are
told in the order of their commits, since each holds the row's lock until then. The same transaction writes who
changed it (`audit`).

The outbox row is deleted again in the same transaction. Debezium reads it from the WAL nevertheless; but the
secrets in it stay out of a table that applications may be allowed to read. With a key ring they are sealed, in both
tables, in the WAL and on Kafka.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from psycopg.rows import tuple_row

from connectors.postgres import endpoint_statements as sql
from connectors.postgres.audit import A_PROGRAM, Actor, AuditLog
from connectors.postgres.connection import statement_errors
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.errors import EndpointExistsError, EndpointNotFoundError, StatementFailedError
from connectors.postgres.stored_endpoint import (
    StoredEndpoint,
    UnreadableEndpoint,
    changed_fields,
    listed_endpoint,
    repaired_endpoint,
    row_values,
    stored_endpoint,
)
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import NO_KEYS, KeyRing
from outbox.event_id import new_event_id

__all__ = ["EndpointStore", "new_endpoint_id"]

#: The values that a row is read with instead of its own: none.
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def new_endpoint_id() -> str:
    """Return a new random id: `ep_` and 20 hexadecimal digits."""
    return f"ep_{secrets.token_hex(10)}"


class EndpointStore:
    """The endpoints in one database, over a connection that the caller owns.

    Every method is one transaction; within one that the caller has open, it is a savepoint of that, and the
    change takes effect with the caller's commit.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does; and those
    that read one endpoint `EndpointUnreadableError`, where its row is one that today's rules refuse.

    Args:
        connection: to the database.
        keys: seal what is written; what is read is opened with them when it is used.
        actor: who is said to have made the changes.
    """

    def __init__(
        self, connection: psycopg.Connection[Any], *, keys: KeyRing = NO_KEYS, actor: Actor = A_PROGRAM
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._actor = actor
        self._audit = AuditLog(connection)
        self.health = EndpointHealthTable(connection)
        """How the endpoints fare."""

    def add(self, endpoint: Endpoint, *, metadata: dict[str, str] | None = None) -> StoredEndpoint:
        """Store a new endpoint, tell the workers, and return what is stored.

        Raises:
            EndpointExistsError: its id is taken.
        """
        new = StoredEndpoint(endpoint=endpoint, metadata=metadata or {}, updated_at=endpoint.created_at)
        with statement_errors(), self._connection.transaction():
            try:
                with self._cursor() as cursor:
                    cursor.execute(sql.INSERT, row_values(new, self._keys))
            except pg_errors.UniqueViolation:
                raise EndpointExistsError(endpoint.id) from None
            self.health.begin(endpoint.id, at=endpoint.created_at)
            stored = self._one(sql.SELECT_ONE, endpoint.id)
            self._tell("endpoint.added", stored.endpoint)
            self._audit.add(self._actor, "endpoint.added", endpoint_id=endpoint.id)
            return stored

    def get(self, endpoint_id: str) -> Endpoint:
        """Return one endpoint.

        Raises:
            EndpointNotFoundError: there is none of this id.
        """
        return self.stored(endpoint_id).endpoint

    def stored(self, endpoint_id: str) -> StoredEndpoint:
        """Return one endpoint with all that is stored of it.

        Raises:
            EndpointNotFoundError: there is none of this id.
        """
        return self._one(sql.SELECT_ONE, endpoint_id)

    def list(self) -> tuple[Endpoint, ...]:
        """Return all endpoints that can be read, oldest first."""
        return tuple(one.endpoint for one in self.everything() if isinstance(one, StoredEndpoint))

    def everything(self) -> tuple[StoredEndpoint | UnreadableEndpoint, ...]:
        """Return all endpoints, oldest first, and in their places those that can't be read."""
        return self._all(sql.SELECT_ALL)

    def page(
        self, *, limit: int, after: tuple[datetime, str] | None = None
    ) -> tuple[StoredEndpoint | UnreadableEndpoint, ...]:
        """As `everything`, of those after one of which `created_at` and id are given."""
        created_at, endpoint_id = (None, None) if after is None else after
        return self._all(sql.SELECT_PAGE, {"created_at": created_at, "id": endpoint_id, "limit": limit})

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all endpoints, and nothing secret."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(endpoint_id for (endpoint_id,) in cursor.execute(sql.SELECT_IDS))

    def update(self, endpoint_id: str, change: Callable[[Endpoint], Endpoint]) -> Endpoint:
        """Change an endpoint as it is now, tell the workers, and return what it has become.

        Args:
            endpoint_id: which one.
            change: makes the new endpoint of the one that is stored. It runs while the row is locked, so that
                no other change gets lost (two rotations of a secret at once, say).

        Raises:
            EndpointNotFoundError: there is none of this id.
            StatementFailedError: the change would give the endpoint another id or time of creation.
        """
        return self.change(
            endpoint_id, lambda before: replace(before, endpoint=change(before.endpoint))
        ).endpoint

    def change(
        self,
        endpoint_id: str,
        change: Callable[[StoredEndpoint], StoredEndpoint],
        *,
        action: str = "endpoint.changed",
        instead: Mapping[str, Any] = _NOTHING,
        failing_that: Mapping[str, Any] = _NOTHING,
    ) -> StoredEndpoint:
        """As `update`, for all that is stored of an endpoint.

        Args:
            endpoint_id: which one.
            change: as `update`'s.
            action: the change's name in the audit table.
            instead: values of columns that the row is read with if it can't be read with its own: what the change sets
                anyhow. So a row that is refused can be repaired.
            failing_that: more of them, if it can't be read with those either: of what the change goes by, if it can.
        """
        with statement_errors(), self._connection.transaction():
            before, repaired = repaired_endpoint(
                self._row(sql.SELECT_LOCKED, endpoint_id),
                self._keys,
                instead=instead,
                failing_that=failing_that,
            )
            after = change(before)
            kept, given = before.endpoint, after.endpoint
            if (given.id, given.created_at) != (kept.id, kept.created_at):
                raise StatementFailedError(
                    f"Endpoint {endpoint_id} keeps its id and created_at. Add another endpoint instead."
                )
            fields = tuple(dict.fromkeys((*repaired, *changed_fields(before, after))))
            self._write(after, steps=1 if fields else 0)
            if given.enabled and (given.url, given.enabled) != (kept.url, kept.enabled):
                self.health.begin(endpoint_id)
            if fields:
                self._audit.add(self._actor, action, endpoint_id=endpoint_id, fields=fields)
            # As it is stored, so that what is told is sealed once, and alike.
            stored = self._one(sql.SELECT_ONE, endpoint_id)
            self._tell("endpoint.changed", stored.endpoint)
            return stored

    def remove(self, endpoint_id: str, *, check: Callable[[int], None] = lambda _revision: None) -> None:
        """Remove an endpoint, and tell the workers: what waits for it is cancelled. Its row need not be readable.

        Args:
            endpoint_id: which one.
            check: looks at the endpoint's revision while it is locked, and may raise instead.

        Raises:
            EndpointNotFoundError: there is none of this id.
        """
        with statement_errors(), self._connection.transaction():
            check(self._row(sql.SELECT_REVISION_LOCKED, endpoint_id)[0])
            with self._cursor() as cursor:
                cursor.execute(sql.DELETE, (endpoint_id,))
            self.health.forget(endpoint_id)
            self._tell_row("endpoint.removed", endpoint_id, None)
            self._audit.add(self._actor, "endpoint.removed", endpoint_id=endpoint_id)

    def reseal(self, endpoint_id: str) -> bool:
        """Seal what the endpoint keeps secret with the current key, and tell the workers. False: it was so already.

        Raises:
            EndpointNotFoundError: there is none of this id.
            SecretLockedError: a key that opens it is missing.
        """
        with statement_errors(), self._connection.transaction():
            before = self._one(sql.SELECT_LOCKED, endpoint_id)
            endpoint = before.endpoint
            if endpoint.is_current(self._keys):
                return False
            opened = replace(
                endpoint,
                secrets=tuple(secret.opened() for secret in endpoint.secrets),
                headers=tuple((name, Confidential(value.reveal())) for name, value in endpoint.headers),
            )
            self._write(replace(before, endpoint=opened), steps=0)
            self._audit.add(self._actor, "endpoint.resealed", endpoint_id=endpoint_id)
            self._tell("endpoint.told", self._one(sql.SELECT_ONE, endpoint_id).endpoint)
            return True

    def tell_all(self) -> tuple[int, tuple[UnreadableEndpoint, ...]]:
        """Tell the workers of every endpoint again, and return how many there are, and those that can't be told.

        For a topic that was lost, or endpoints that were added before there was a replication slot. Removals
        are not told again.
        """
        with statement_errors(), self._connection.transaction():
            told, unreadable = 0, []
            for one in self._all(sql.SELECT_ALL_LOCKED):
                if isinstance(one, UnreadableEndpoint):
                    unreadable.append(one)
                    continue
                self._tell("endpoint.told", one.endpoint)
                told += 1
            return told, tuple(unreadable)

    def _write(self, stored: StoredEndpoint, *, steps: int) -> None:
        with self._cursor() as cursor:
            cursor.execute(sql.UPDATE, row_values(stored, self._keys) | {"steps": steps})

    def _one(self, query: str, endpoint_id: str) -> StoredEndpoint:
        return stored_endpoint(self._row(query, endpoint_id), self._keys)

    # In binary form, here and below: how an interval is written as text is a setting of the database (IntervalStyle).
    def _row(self, query: str, endpoint_id: str) -> tuple[Any, ...]:
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            row = cursor.execute(query, {"id": endpoint_id}, binary=True).fetchone()
        if row is None:
            raise EndpointNotFoundError(endpoint_id)
        return row

    def _all(
        self, query: str, arguments: dict[str, Any] | None = None
    ) -> tuple[StoredEndpoint | UnreadableEndpoint, ...]:
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(
                listed_endpoint(row, self._keys) for row in cursor.execute(query, arguments, binary=True)
            )

    def _tell(self, event_type: str, endpoint: Endpoint) -> None:
        self._tell_row(event_type, endpoint.id, endpoint.to_json(self._keys).decode())

    def _tell_row(self, event_type: str, endpoint_id: str, payload: str | None) -> None:
        row_id = new_event_id()
        with self._cursor() as cursor:
            cursor.execute(sql.TELL, (row_id, event_type, endpoint_id, payload))
            cursor.execute(sql.FORGET, (row_id,))

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)
