"""The demo's application: a shop that writes an order and its event in one transaction.

This is what using the library looks like. Some transactions are rolled back after the event was appended: those events
must never arrive anywhere.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

import outbox
from demo.evidence import Committed, Evidence
from demo.story import Order

__all__ = ["count_orders", "open_shop", "sell"]

_TABLE = (
    "create table orders (number bigint primary key, customer text not null, total_cents bigint not null)"
)
_ORDER = "insert into orders (number, customer, total_cents) values (%s, %s, %s)"


def open_shop(database_url: str) -> None:
    """Create the shop's own table."""
    with psycopg.connect(database_url) as connection:
        connection.execute(_TABLE)


def sell(
    orders: Sequence[Order],
    *,
    database_url: str,
    pauses_s: Iterator[float],
    evidence: Evidence,
    closed: threading.Event,
) -> None:
    """Make all transactions, with a pause before each. Blocking; returns early when the shop is closed."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        for order, pause_s in zip(orders, pauses_s, strict=False):
            if closed.wait(pause_s):
                return
            _sell(connection, order, evidence)


def count_orders(database_url: str) -> int:
    """How many orders are stored."""
    with psycopg.connect(database_url) as connection:
        row = connection.execute("select count(*) from orders").fetchone()
        return 0 if row is None else int(row[0])


def _sell(connection: psycopg.Connection[Any], order: Order, evidence: Evidence) -> None:
    with connection.transaction():
        connection.execute(_ORDER, (order.number, order.customer, order.total_cents))
        event_id = outbox.append(
            connection,
            type=order.event_type,
            aggregate=("order", str(order.number)),
            payload=order.payload,
        )
        if not order.kept:
            evidence.rolled_back.add(str(event_id))
            raise psycopg.Rollback
    if order.kept:
        at_ns = time.monotonic_ns()
        evidence.committed.append(
            Committed(event_id=str(event_id), type=order.event_type, payload=order.payload, at_ns=at_ns)
        )
