"""The table that the polling baseline works on, and how an application appends to it.

One row an event, which the worker claims, and marks when it is done. A reimplementation, as the worker is.
"""

from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from benchmarks.orders import Order
from outbox.event_id import new_event_id

__all__ = ["CREATE_TABLES", "EMPTY_POLLING_TABLE", "append_to_polling_table"]

CREATE_TABLES: Final = (
    "create schema if not exists benchmark",
    """
    create table if not exists benchmark.orders (
        id bigint generated always as identity primary key,
        number text not null,
        payload_chars int not null,
        created_at timestamptz not null default clock_timestamp()
    )
    """,
    """
    create table if not exists benchmark.polling_outbox (
        id uuid primary key,
        type text not null,
        aggregate_type text not null,
        aggregate_id text not null,
        payload text not null,
        content_type text not null default 'application/json',
        headers jsonb not null default '{}',
        status text not null default 'pending',
        attempts int not null default 0,
        due_at timestamptz not null default clock_timestamp(),
        locked_by text,
        locked_until timestamptz,
        error_code text,
        finished_at timestamptz,
        created_at timestamptz not null default clock_timestamp()
    )
    """,
    """
    create index if not exists polling_outbox_due on benchmark.polling_outbox (due_at)
    where status = 'pending'
    """,
)

EMPTY_POLLING_TABLE: Final = "truncate benchmark.polling_outbox"

_INSERT: Final = """
insert into benchmark.polling_outbox (id, type, aggregate_type, aggregate_id, payload, headers)
values (%s, %s, %s, %s, %s, %s)
"""


async def append_to_polling_table(connection: psycopg.AsyncConnection[Any], order: Order) -> UUID:
    """Insert one event, in the caller's transaction."""
    event_id = new_event_id()
    await connection.execute(_INSERT, _values(event_id, order))
    return event_id


def fill_polling_table(connection: psycopg.Connection[Any], orders: list[Order]) -> None:
    """Insert many at once, before a measurement."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(_INSERT, [_values(new_event_id(), order) for order in orders])
    connection.execute("analyze benchmark.polling_outbox")


def _values(event_id: UUID, order: Order) -> tuple[object, ...]:
    return event_id, order.type, "order", order.number, order.payload, Jsonb({})
