"""The endpoints, kept in Postgres, and told to the workers.

A worker never reads this table: it knows endpoints from `outbox.endpoints` on Kafka alone (INV-10). So every
change writes, in the same transaction, an outbox row on the channel `endpoints`: the endpoint's JSON, or
NULL, a tombstone, when it is removed. Debezium carries it over like any event. Changes of one endpoint are
told in the order of their commits, since each holds the row's lock until then.

The outbox row is deleted again in the same transaction. Debezium reads it from the WAL nevertheless; but the
secrets in it stay out of a table that applications may be allowed to read.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Any, Final

import psycopg
from psycopg import errors as pg_errors
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors
from connectors.postgres.errors import EndpointExistsError, EndpointNotFoundError, StatementFailedError
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
from outbox.event_id import new_event_id

__all__ = ["EndpointStore", "new_endpoint_id"]

# The columns of an `Endpoint`, in the order of `_endpoint`.
_COLUMNS: Final = "id, url, event_types, secrets, enabled, description, created_at"

_INSERT: Final = f"""
insert into outbox.endpoints ({_COLUMNS})
values (%(id)s, %(url)s, %(event_types)s, %(secrets)s, %(enabled)s, %(description)s, %(created_at)s)
"""  # noqa: S608 - a constant, here and below

_UPDATE: Final = """
update outbox.endpoints
set url = %(url)s, event_types = %(event_types)s, secrets = %(secrets)s, enabled = %(enabled)s,
    description = %(description)s, updated_at = clock_timestamp()
where id = %(id)s
"""

_SELECT_ONE: Final = f"select {_COLUMNS} from outbox.endpoints where id = %s"  # noqa: S608
_SELECT_LOCKED: Final = f"{_SELECT_ONE} for update"
_SELECT_ALL: Final = f"select {_COLUMNS} from outbox.endpoints order by created_at, id"  # noqa: S608
_SELECT_ALL_LOCKED: Final = f"{_SELECT_ALL} for update"
_SELECT_IDS: Final = "select id from outbox.endpoints"
_DELETE: Final = "delete from outbox.endpoints where id = %s"

_TELL: Final = """
insert into outbox.outbox (id, channel, type, aggregate_type, aggregate_id, payload)
values (%s, 'endpoints', %s, 'endpoint', %s, %s)
"""
_FORGET: Final = "delete from outbox.outbox where id = %s"


def new_endpoint_id() -> str:
    """Return a new random id: `ep_` and 20 hexadecimal digits."""
    return f"ep_{secrets.token_hex(10)}"


class EndpointStore:
    """The endpoints in one database, over a connection that the caller owns.

    Every method is one transaction; within one that the caller has open, it is a savepoint of that, and the
    change takes effect with the caller's commit.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def add(self, endpoint: Endpoint) -> None:
        """Store a new endpoint, and tell the workers.

        Raises:
            EndpointExistsError: its id is taken.
        """
        with statement_errors(), self._connection.transaction():
            try:
                with self._cursor() as cursor:
                    cursor.execute(_INSERT, _values(endpoint))
            except pg_errors.UniqueViolation:
                raise EndpointExistsError(endpoint.id) from None
            self._tell("endpoint.added", endpoint.id, endpoint.to_json().decode())

    def get(self, endpoint_id: str) -> Endpoint:
        """Return one endpoint.

        Raises:
            EndpointNotFoundError: there is none of this id.
        """
        return self._one(_SELECT_ONE, endpoint_id)

    def list(self) -> tuple[Endpoint, ...]:
        """Return all endpoints, oldest first."""
        return self._all(_SELECT_ALL)

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all endpoints, and nothing secret."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(endpoint_id for (endpoint_id,) in cursor.execute(_SELECT_IDS))

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
        with statement_errors(), self._connection.transaction():
            before = self._one(_SELECT_LOCKED, endpoint_id)
            after = change(before)
            if (after.id, after.created_at) != (before.id, before.created_at):
                raise StatementFailedError(
                    f"Endpoint {endpoint_id} keeps its id and created_at. Add another endpoint instead."
                )
            with self._cursor() as cursor:
                cursor.execute(_UPDATE, _values(after))
            self._tell("endpoint.changed", after.id, after.to_json().decode())
            return after

    def remove(self, endpoint_id: str) -> None:
        """Remove an endpoint, and tell the workers: what waits for it is cancelled.

        Raises:
            EndpointNotFoundError: there is none of this id.
        """
        with statement_errors(), self._connection.transaction():
            with self._cursor() as cursor:
                if cursor.execute(_DELETE, (endpoint_id,)).rowcount == 0:
                    raise EndpointNotFoundError(endpoint_id)
            self._tell("endpoint.removed", endpoint_id, None)

    def tell_all(self) -> int:
        """Tell the workers of every endpoint again, and return how many there are.

        For a topic that was lost, or endpoints that were added before there was a replication slot. Removals
        are not told again.
        """
        with statement_errors(), self._connection.transaction():
            endpoints = self._all(_SELECT_ALL_LOCKED)
            for endpoint in endpoints:
                self._tell("endpoint.told", endpoint.id, endpoint.to_json().decode())
            return len(endpoints)

    def _one(self, query: str, endpoint_id: str) -> Endpoint:
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            row = cursor.execute(query, (endpoint_id,)).fetchone()
        if row is None:
            raise EndpointNotFoundError(endpoint_id)
        return _endpoint(row)

    def _all(self, query: str) -> tuple[Endpoint, ...]:
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(map(_endpoint, cursor.execute(query)))

    def _tell(self, event_type: str, endpoint_id: str, payload: str | None) -> None:
        row_id = new_event_id()
        with self._cursor() as cursor:
            cursor.execute(_TELL, (row_id, event_type, endpoint_id, payload))
            cursor.execute(_FORGET, (row_id,))

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


def _values(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "event_types": _texts(event_filter.pattern for event_filter in endpoint.event_types),
        "secrets": _texts(secret.reveal() for secret in endpoint.secrets),
        "enabled": endpoint.enabled,
        "description": endpoint.description,
        "created_at": endpoint.created_at,
    }


def _texts(texts: Iterable[str]) -> list[str]:
    return [*texts]


def _endpoint(row: tuple[Any, ...]) -> Endpoint:
    endpoint_id, url, event_types, secret_texts, enabled, description, created_at = row
    return Endpoint(
        id=endpoint_id,
        url=url,
        event_types=tuple(EventFilter(pattern) for pattern in event_types),
        secrets=tuple(Secret.parse(text) for text in secret_texts),
        enabled=enabled,
        description=description,
        created_at=created_at,
    )
