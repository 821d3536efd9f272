"""Append events to the outbox, in the transaction that writes what they tell of.

First step of the data's way. Four forms of one act: a single event or a batch, over a psycopg `Connection` or
an `AsyncConnection`. What they share:

- They run in the caller's transaction and never begin, commit or roll back one. The event exists if and only
  if the business row does; without an open transaction they refuse.
- Everything is checked before anything is written.
- One round trip: one statement for an event, one for up to `ROWS_PER_STATEMENT` of a batch.
- They need nothing of the connection's settings: not its row or cursor factory, its search_path, or its
  adapters; and of the role no more than USAGE on the schema and INSERT on the table.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg import errors as pg_errors
from psycopg.pq import TransactionStatus

from outbox.errors import ConnectionMisusedError, OutboxNotSetUpError
from outbox.row import OutboxRow

__all__ = ["append", "append_async", "append_many", "append_many_async"]

ROWS_PER_STATEMENT: Final = 1_000
BYTES_PER_STATEMENT: Final = 8 * 1024 * 1024

# The casts are for connections whose adapters declare a str to be text. No RETURNING: it would need SELECT.
_INSERT_ONE: Final = """
insert into outbox.outbox (id, type, aggregate_type, aggregate_id, payload, content_type, headers)
values (%s::uuid, %s, %s, %s, %s, %s, %s::jsonb)
"""

# Not COPY: that writes many rows into one WAL record, under one position. A connector that was killed between
# two of them must tell them apart when it resumes (debezium PR #7531). And COPY can't be used in pipeline
# mode. The arrays go in binary (%b): quoting their elements as text took 800 µs a row, where all of this
# takes 50.
_INSERT_MANY: Final = """
insert into outbox.outbox (id, type, aggregate_type, aggregate_id, payload, content_type, headers)
select id::uuid, type, aggregate_type, aggregate_id, payload, content_type, headers::jsonb
from unnest(%b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[])
     as row (id, type, aggregate_type, aggregate_id, payload, content_type, headers)
"""

_Statement = tuple[str, Sequence[Any]]


def append(
    connection: psycopg.Connection[Any],
    *,
    type: str,  # noqa: A002 - the vocabulary's word for it, and the column's name
    aggregate: tuple[str, str],
    payload: object,
    headers: Mapping[str, str] | None = None,
    content_type: str | None = None,
    id: UUID | None = None,  # noqa: A002 - as above
) -> UUID:
    """Append one event within the connection's transaction, and return its id.

    Args:
        connection: a psycopg connection with a transaction open, or one that isn't in autocommit mode (it
            opens one).
        type: what happened, as words joined by dots: `"order.created"`.
        aggregate: the type and the id of what it happened to: `("order", "42")`. Events of one aggregate id
            keep their order.
        payload: bytes (UTF-8) or str, which arrive as they are to the byte; or an object, which is stored as
            JSON.
        headers: text beside the payload, such as a trace context.
        content_type: the payload's media type; `application/json` if it isn't given.
        id: the event's id, for a caller that has one to deduplicate by; a new one otherwise.

    Raises:
        InvalidFieldError: a field that can't be stored.
        ConnectionMisusedError: not a `psycopg.Connection`, or in autocommit mode without a transaction.
        OutboxNotSetUpError: there is no table, or no right to insert into it.
        psycopg.Error: whatever else the database has to say about the statement, such as an id that is taken.
    """
    _check_connection(connection, psycopg.Connection, "append")
    row = OutboxRow.of(
        type=type, aggregate=aggregate, payload=payload, headers=headers, content_type=content_type, id=id
    )
    _execute(connection, _insert(row))
    return row.id


async def append_async(
    connection: psycopg.AsyncConnection[Any],
    *,
    type: str,  # noqa: A002 - as above
    aggregate: tuple[str, str],
    payload: object,
    headers: Mapping[str, str] | None = None,
    content_type: str | None = None,
    id: UUID | None = None,  # noqa: A002 - as above
) -> UUID:
    """Append one event within the connection's transaction: `append`, for an AsyncConnection."""
    _check_connection(connection, psycopg.AsyncConnection, "append_async")
    row = OutboxRow.of(
        type=type, aggregate=aggregate, payload=payload, headers=headers, content_type=content_type, id=id
    )
    await _execute_async(connection, _insert(row))
    return row.id


def append_many(connection: psycopg.Connection[Any], rows: Iterable[OutboxRow]) -> tuple[UUID, ...]:
    """Append a batch of events within the connection's transaction, and return their ids in the same order.

    The rows are made with `OutboxRow.of`, which checks each; all of them exist before the first is written.

    Raises:
        ConnectionMisusedError: as `append`.
        OutboxNotSetUpError: as `append`.
        psycopg.Error: as `append`. The transaction has failed then, and with it the whole batch.
    """
    _check_connection(connection, psycopg.Connection, "append_many")
    batch = tuple(rows)
    for statement in _inserts(batch):
        _execute(connection, statement)
    return tuple(row.id for row in batch)


async def append_many_async(
    connection: psycopg.AsyncConnection[Any], rows: Iterable[OutboxRow]
) -> tuple[UUID, ...]:
    """Append a batch within the connection's transaction: `append_many` for an AsyncConnection."""
    _check_connection(connection, psycopg.AsyncConnection, "append_many_async")
    batch = tuple(rows)
    for statement in _inserts(batch):
        await _execute_async(connection, statement)
    return tuple(row.id for row in batch)


def _execute(connection: psycopg.Connection[Any], statement: _Statement) -> None:
    # A plain cursor: the connection's own cursor factory may want another style of placeholders, or make
    # rows.
    with _set_up_errors(), psycopg.Cursor(connection) as cursor:
        cursor.execute(*statement)


async def _execute_async(connection: psycopg.AsyncConnection[Any], statement: _Statement) -> None:
    with _set_up_errors():
        async with psycopg.AsyncCursor(connection) as cursor:
            await cursor.execute(*statement)


def _insert(row: OutboxRow) -> _Statement:
    return _INSERT_ONE, _values(row)


def _inserts(rows: Sequence[OutboxRow]) -> Iterator[_Statement]:
    for chunk in _chunks(rows):
        columns = zip(*map(_values, chunk), strict=True)
        yield _INSERT_MANY, [list(column) for column in columns]


def _chunks(rows: Sequence[OutboxRow]) -> Iterator[Sequence[OutboxRow]]:
    """Split a batch into statements not much larger than `BYTES_PER_STATEMENT`: each is held in memory."""
    start, size_bytes = 0, 0
    for index, row in enumerate(rows):
        if index > start and (size_bytes >= BYTES_PER_STATEMENT or index - start >= ROWS_PER_STATEMENT):
            yield rows[start:index]
            start, size_bytes = index, 0
        size_bytes += len(row.payload) + len(row.headers)
    if rows:
        yield rows[start:]


def _values(row: OutboxRow) -> tuple[str, ...]:
    return (
        str(row.id),
        row.type,
        row.aggregate_type,
        row.aggregate_id,
        row.payload,
        row.content_type,
        row.headers,
    )


_Kind = type[psycopg.Connection[Any]] | type[psycopg.AsyncConnection[Any]]


def _check_connection(connection: object, wanted: _Kind, called: str) -> None:
    if isinstance(connection, wanted):
        _check_transaction(connection, called)
        return
    match connection:
        case psycopg.AsyncConnection():
            advice = f"Await {called}_async for an AsyncConnection."
        case psycopg.Connection():
            advice = f"Call {called.removesuffix('_async')} for a Connection."
        case _:
            advice = (
                "It takes psycopg 3's Connection or AsyncConnection; through any other driver, call the SQL "
                "function outbox.append (docs/reference/outbox-table.md)."
            )
    name = f"{type(connection).__module__}.{type(connection).__qualname__}"
    raise ConnectionMisusedError(f"{called} can't append through a {name}. {advice}")


def _check_transaction(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], called: str
) -> None:
    # In autocommit mode the event would be committed by itself, whatever becomes of the business row: the
    # very fault that an outbox is there to prevent.
    if connection.autocommit and connection.info.transaction_status is TransactionStatus.IDLE:
        raise ConnectionMisusedError(
            f"{called} was called in autocommit mode and outside of a transaction, where the event would not "
            "be atomic with anything. Call it inside `with connection.transaction():`, with the statements "
            "that write what the event tells of."
        )


@contextmanager
def _set_up_errors() -> Generator[None]:
    try:
        yield
    except (pg_errors.UndefinedTable, pg_errors.InvalidSchemaName) as error:
        raise OutboxNotSetUpError(
            "This database has no table outbox.outbox. Run `outbox setup` against it once; if that was done, "
            "check that this connection is to the same database."
        ) from error
    except pg_errors.InsufficientPrivilege as error:
        raise OutboxNotSetUpError(
            "This role may not append. As the table's owner: grant usage on schema outbox, and insert on "
            "outbox.outbox, to it."
        ) from error
