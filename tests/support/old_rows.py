"""Rows of the outbox that are old, a slot that confirms when a test says so, and prunes that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from secrets import token_hex
from typing import Any

import psycopg

from connectors.kafka_connect.connector import PUBLICATION_NAME
from streams.prune import Clock, Pruned, prune

__all__ = ["HOUR", "SlotByHand", "a_slot", "append_rows", "kept_keys"]

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class SlotByHand:
    """A slot of the server that nobody reads from; it is moved on by a test."""

    connection: psycopg.Connection[Any]
    name: str

    def confirm(self) -> None:
        """Confirm all that is committed."""
        self.connection.execute("select pg_logical_emit_message(true, 'test', '')")
        self.connection.execute("select pg_replication_slot_advance(%s, pg_current_wal_lsn())", [self.name])

    def prune(
        self,
        *,
        older_than: timedelta = HOUR,
        dry_run: bool = False,
        meanwhile: Callable[[], object] | None = None,
        connection: psycopg.Connection[Any] | None = None,
    ) -> Pruned:
        """Prune; while it waits, `meanwhile` happens once for each look, or all is confirmed. It looks three times."""
        looks = count()

        def sleep(_: float) -> None:
            do()

        do = self.confirm if meanwhile is None else meanwhile
        return prune(
            self.connection if connection is None else connection,
            slot=self.name,
            publication=PUBLICATION_NAME,
            older_than=older_than,
            wait=timedelta(seconds=4),
            dry_run=dry_run,
            clock=Clock(monotonic_s=lambda: float(next(looks)), sleep=sleep),
        )


@contextmanager
def a_slot(connection: psycopg.Connection[Any]) -> Iterator[SlotByHand]:
    """Make one for a while."""
    name = f"prune_{token_hex(4)}"
    connection.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [name])
    try:
        yield SlotByHand(connection, name)
    finally:
        connection.execute(
            "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s",
            [name],
        )


def append_rows(connection: psycopg.Connection[Any], number: int, *, key: str, age: timedelta) -> None:
    """Append so many rows that claim to be so old."""
    connection.execute(
        "insert into outbox.outbox (type, aggregate_type, aggregate_id, payload, created_at)"
        " select 'prune.tested', 'prune', %s, '{}', clock_timestamp() - %s from generate_series(1, %s)",
        [key, age, number],
    )


def kept_keys(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """How many rows there are, by key."""
    found = connection.execute("select aggregate_id, count(*) from outbox.outbox group by 1")
    return dict(found.fetchall())
