"""Reading the delivery log: "did you send it?", and "why not?".

Place in the data's way: its end, where the command line and the API ask. Reads what the recorder wrote, which is
behind the deliveries by a moment, or by as long as the recorder was down. Pages are cut by time and id, so they
neither skip nor repeat a delivery while others are added; an id says in which partition its delivery lives, so
looking one up touches one day. Must not: change anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, LiteralString

import psycopg
from psycopg.rows import dict_row

from connectors.postgres.connection import statement_errors
from connectors.postgres.errors import DeliveryNotFoundError
from connectors.postgres.log_page import after, in_utc, read_id, where
from connectors.postgres.logged_delivery import (
    DeliveryPage,
    DeliveryQuery,
    LoggedAttempt,
    LoggedDelivery,
)

__all__ = ["DeliveryLog", "page_statement"]

_SELECT: Final = """
select id, created_at, event_id, event_type, target, origin, status, attempts, last_attempt_at, next_attempt_at,
       http_status, error_code, error, nullif(replay_id, '') as replay_id
from outbox.deliveries
"""
_NEWEST_FIRST: Final = " order by created_at desc, id desc limit %(limit)s"
_SELECT_ONE: Final = f"{_SELECT} where created_at = %(created_at)s and id = %(id)s"
_SELECT_ATTEMPTS: Final = """
select id, attempt, deferrals, nullif(replay_id, '') as replay_id, started_at, duration_ms, outcome, http_status,
       error_code, error, excerpt, next, next_attempt_at
from outbox.attempts
where created_at = %(created_at)s and delivery_id = %(id)s
order by started_at desc, attempt desc, deferrals desc, id desc
limit %(limit)s
"""


class DeliveryLog:
    """The log in one database, over a connection that the caller owns. Each method is one transaction.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def list(self, query: DeliveryQuery, *, limit: int, cursor: str | None = None) -> DeliveryPage:
        """Return a page of at most `limit` (from 1 on) deliveries; `cursor` is the page before's `next_cursor`.

        Raises:
            CursorInvalidError: the cursor is none.
        """
        statement, values = page_statement(query, limit=limit, cursor=cursor)
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            rows.execute(statement, values)
            found = tuple(LoggedDelivery(**in_utc(row)) for row in rows)
        more = len(found) > limit
        page = found[:limit]
        return DeliveryPage(deliveries=page, next_cursor=str(page[-1].id) if more else None)

    def get(
        self, delivery_id: str, *, newest: int | None = None
    ) -> tuple[LoggedDelivery, tuple[LoggedAttempt, ...]]:
        """Return a delivery and its attempts, oldest first: all of them, or so many of the newest.

        Raises:
            DeliveryNotFoundError: there is none of this id, or no longer.
        """
        wanted = read_id(delivery_id)
        if wanted is None:
            raise DeliveryNotFoundError(delivery_id)
        values = {"created_at": wanted[0], "id": wanted[1], "limit": newest}
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            row = rows.execute(_SELECT_ONE, values).fetchone()
            attempts = [LoggedAttempt(**in_utc(each)) for each in rows.execute(_SELECT_ATTEMPTS, values)]
        if row is None:
            raise DeliveryNotFoundError(delivery_id)
        return LoggedDelivery(**in_utc(row)), tuple(reversed(attempts))

    def _cursor(self) -> psycopg.Cursor[dict[str, Any]]:
        return psycopg.Cursor(self._connection, row_factory=dict_row)


def page_statement(
    query: DeliveryQuery, *, limit: int, cursor: str | None
) -> tuple[LiteralString, dict[str, object]]:
    """The statement for a page, and its values. It asks for one delivery more than the page has: are there any?

    Raises:
        CursorInvalidError: the cursor is none.
    """
    conditions = [*_conditions(query)]
    values: dict[str, object] = {
        "target": query.target,
        "event_id": query.event_id,
        "event_type": query.event_type,
        "statuses": sorted(query.statuses),
        "since": query.since,
        "until": query.until,
        "limit": limit + 1,
    }
    if cursor is not None:
        # The first half says nothing new, but Postgres passes over newer partitions by it.
        conditions.append("created_at <= %(after)s and (created_at, id) < (%(after)s, %(after_id)s)")
        values |= after(cursor)
    return _SELECT + where(conditions) + _NEWEST_FIRST, values


def _conditions(query: DeliveryQuery) -> Iterator[LiteralString]:
    if query.target is not None:
        yield "target = %(target)s"
    if query.event_id is not None:
        yield "event_id = %(event_id)s"
    if query.event_type is not None:
        yield "event_type = %(event_type)s"
    if query.statuses:
        yield "status = any(%(statuses)s)"
        if "succeeded" not in query.statuses:
            yield "status <> 'succeeded'"  # which the indexes of the few are made for
    if query.since is not None:
        yield "created_at >= %(since)s"
    if query.until is not None:
        yield "created_at < %(until)s"
