"""The load: an application that writes business rows and outbox rows, in a process of its own.

Each event is a real transaction: an order, and beside it the outbox row through `outbox.append`, or for the
polling baseline the row of its own table. Arrivals are open: each begins at its moment of the schedule, whether
or not those before it have ended. What is measured elsewhere starts at the moment when the commit returned here.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast
from uuid import UUID

import psycopg
import uvloop

from benchmarks.children import run_in_child
from benchmarks.orders import Order
from benchmarks.polling_table import append_to_polling_table
from outbox import OutboxRow, append_async, append_many

__all__ = ["Arrival", "Commit", "Load", "append_in_bulk", "arrivals_of", "run_load", "transactions_of"]

_CONNECTIONS = 8
_START_AFTER_S = 0.3
_ROWS_PER_TRANSACTION = 500
_INSERT_ORDER = "insert into benchmark.orders (number, payload_chars) values (%s, %s)"

Connection = psycopg.AsyncConnection[tuple[object, ...]]


class Arrival(NamedTuple):
    """One event, and when its transaction begins: seconds from the load's start."""

    at_s: float
    order: Order


class Commit(NamedTuple):
    """One event that was committed: when the commit returned (epoch seconds), and how late its transaction began."""

    event_id: str
    event_type: str
    arrived_s: float
    committed_at_s: float
    late_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is appended, when, and to which table."""

    database_url: str
    arrivals: Sequence[Arrival]
    table: Literal["outbox", "polling"] = "outbox"


def run_load(load: Load) -> list[Commit]:
    """Run a load in a process of its own, and give what was committed, in the order of arrival."""
    timeout_s = load.arrivals[-1].at_s + 60
    return cast("list[Commit]", run_in_child(_run, load, timeout_s=timeout_s))


def transactions_of(commits: Sequence[Commit]) -> int:
    """Count a load's transactions: one an event, and the one in which the server starts each connection."""
    return len(commits) + _CONNECTIONS


def append_in_bulk(database_url: str, orders: Sequence[Order]) -> None:
    """Append as fast as one connection can, in large transactions, in a process of its own."""
    run_in_child(_append_in_bulk, database_url, orders, timeout_s=300)


def _run(load: Load) -> list[Commit]:
    return uvloop.run(_arrive(load))


async def _arrive(load: Load) -> list[Commit]:
    free: asyncio.Queue[Connection] = asyncio.Queue()
    connections = [await psycopg.AsyncConnection.connect(load.database_url) for _ in range(_CONNECTIONS)]
    for connection in connections:
        free.put_nowait(connection)
        await connection.execute("select 1")  # it is no part of the first commits that the server forks
        await connection.rollback()
    start_s = time.time() + _START_AFTER_S

    async def commit(arrival: Arrival) -> Commit:
        connection = await free.get()
        try:
            late_s = time.time() - start_s - arrival.at_s
            event_id = await _append(connection, arrival.order, load)
            return Commit(str(event_id), arrival.order.type, arrival.at_s, time.time(), late_s)
        finally:
            free.put_nowait(connection)

    commits = []
    for arrival in load.arrivals:
        await asyncio.sleep(max(start_s + arrival.at_s - time.time(), 0.0))
        commits.append(asyncio.ensure_future(commit(arrival)))
    committed = await asyncio.gather(*commits)
    for connection in connections:
        await connection.close()
    return committed


async def _append(connection: Connection, order: Order, load: Load) -> UUID:
    async with connection.transaction():
        await connection.execute(_INSERT_ORDER, (order.number, len(order.payload)))
        if load.table == "polling":
            return await append_to_polling_table(connection, order)
        return await append_async(
            connection, type=order.type, aggregate=("order", order.number), payload=order.payload
        )


def _append_in_bulk(database_url: str, orders: Sequence[Order]) -> None:
    with psycopg.connect(database_url) as connection:
        for first in range(0, len(orders), _ROWS_PER_TRANSACTION):
            chunk = orders[first : first + _ROWS_PER_TRANSACTION]
            rows = [
                OutboxRow.of(type=order.type, aggregate=("order", order.number), payload=order.payload)
                for order in chunk
            ]
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(_INSERT_ORDER, [(order.number, len(order.payload)) for order in chunk])
                append_many(connection, rows)


def arrivals_of(moments: Sequence[float], orders: Sequence[Order]) -> tuple[Arrival, ...]:
    """Put moments and events together."""
    return tuple(Arrival(at_s, order) for at_s, order in zip(moments, orders, strict=True))
