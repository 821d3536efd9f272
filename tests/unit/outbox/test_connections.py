"""What `append` says to connections that it can't use; no database is needed to say it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import outbox
from outbox import ConnectionMisusedError, OutboxRow

VALID: dict[str, Any] = {"type": "order.created", "aggregate": ("order", "42"), "payload": "{}"}


def test_an_async_connection_is_sent_to_the_async_forms() -> None:
    """Without this the caller would get a coroutine that nobody awaits, and no event."""
    connection: Any = psycopg.AsyncConnection.__new__(psycopg.AsyncConnection)
    with pytest.raises(ConnectionMisusedError, match="Await append_async"):
        outbox.append(connection, **VALID)
    with pytest.raises(ConnectionMisusedError, match="Await append_many_async"):
        outbox.append_many(connection, [OutboxRow.of(**VALID)])


async def test_a_plain_connection_is_sent_to_the_plain_forms() -> None:
    """The same the other way round."""
    connection: Any = psycopg.Connection.__new__(psycopg.Connection)
    with pytest.raises(ConnectionMisusedError, match="Call append for"):
        await outbox.append_async(connection, **VALID)
    with pytest.raises(ConnectionMisusedError, match="Call append_many for"):
        await outbox.append_many_async(connection, [OutboxRow.of(**VALID)])


def test_another_driver_is_sent_to_the_sql_function() -> None:
    """Whoever has no psycopg connection learns what there is instead."""
    connection: Any = object()
    with pytest.raises(ConnectionMisusedError, match=r"builtins.object.*outbox\.append"):
        outbox.append(connection, **VALID)
