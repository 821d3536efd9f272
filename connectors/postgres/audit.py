"""The audit table: who changed which endpoint, when, and which of its fields; and who reset offsets, where to.

Place in the data's way: written by `EndpointStore` in the transaction of each change, read by `GET /v1/audit`.
Invariant: of an endpoint names of fields and never a value, since some are secrets (INV-9).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors

__all__ = ["A_PROGRAM", "KEPT_FOR", "Actor", "AuditEntry", "AuditLog"]

KEPT_FOR: Final = timedelta(days=400)
"""How long an entry is kept: a year, and time to look back at it."""

#: At once, so that no transaction grows long; what is more waits for the next time.
_PRUNED: Final = 10_000

_INSERT: Final = """
insert into outbox.audit (actor, action, endpoint_id, fields, request_id) values (%s, %s, %s, %s, %s)
"""
_PAGE: Final = """
select id, at, actor, action, endpoint_id, fields, request_id from outbox.audit
where (%(before)s::bigint is null or id < %(before)s) and (%(endpoint)s::text is null or endpoint_id = %(endpoint)s)
order by id desc limit %(limit)s
"""
# Ids ascend nearly as times do. Only the oldest are looked at, or each look would read the whole table.
_PRUNE: Final = """
delete from outbox.audit where id in (
    select id from (select id, at from outbox.audit order by id limit %(most)s) as oldest
    where at < now() - %(kept_for)s
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something: a token's name, or `cli:` and a user's; and the request in which it happens."""

    name: str
    request_id: str | None = None


A_PROGRAM: Final = Actor(name="program")
"""Who uses the store without saying who it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change. `id` ascends in the order in which changes began."""

    id: int
    at: datetime
    actor: str
    action: str
    endpoint_id: str | None
    fields: tuple[str, ...]
    request_id: str | None


class AuditLog:
    """The audit table of one database, over a connection that the caller owns.

    All methods raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def add(
        self, actor: Actor, action: str, *, endpoint_id: str | None, fields: tuple[str, ...] = ()
    ) -> None:
        """Write an entry, in the transaction that is open."""
        with statement_errors(), self._cursor() as cursor:
            cursor.execute(_INSERT, (actor.name, action, endpoint_id, list(fields), actor.request_id))

    def prune(self) -> int:
        """Delete the oldest entries of those that are older than `KEPT_FOR`, and return how many there were."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return cursor.execute(_PRUNE, {"most": _PRUNED, "kept_for": KEPT_FOR}).rowcount

    def page(
        self, *, limit: int, before: int | None = None, endpoint_id: str | None = None
    ) -> tuple[AuditEntry, ...]:
        """Read entries, newest first: those before one, of one endpoint or of all."""
        arguments = {"limit": limit, "before": before, "endpoint": endpoint_id}
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(
                AuditEntry(
                    id=number,
                    at=at,
                    actor=actor,
                    action=action,
                    endpoint_id=endpoint,
                    fields=tuple(fields),
                    request_id=request_id,
                )
                for number, at, actor, action, endpoint, fields, request_id in cursor.execute(
                    _PAGE, arguments
                )
            )

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)
