"""Rows may stay in the table, and the table may be in parts: what was sent is not sent again, and all of it is sent."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from streams.settings import Settings
from tests.integration.connect.conftest import set_up
from tests.support.eventually import eventually
from tests.support.topics import TopicTail

Database = psycopg.Connection[Any]


def append(database: Database, key: str) -> None:
    database.execute("select outbox.append('kept.tested', 'kept', %s, '{}')", [key])


def wait_for_key(events: TopicTail, key: bytes) -> list[bytes | None]:
    records = events.wait_until(lambda records: any(r.key == key for r in records), what=repr(key))
    return [record.key for record in records]


def confirm(settings: Settings, database: Database) -> None:
    """Return when the slot has moved on behind all rows: what is not confirmed may come twice at any restart."""
    asyncio.run(beat_often(settings))
    row = database.execute("select pg_current_wal_lsn()").fetchone()
    assert row is not None
    ask = "select confirmed_flush_lsn > %s from pg_replication_slots where slot_name = 'outbox'"
    eventually(lambda: database.execute(ask, row).fetchone() == (True,), what="the slot to move on")


async def beat_often(settings: Settings) -> None:
    config = connector_config(settings.database_url.get_secret_value(), poll_interval_ms=5)
    async with ConnectClient(settings.connect_url) as connect:
        await connect.put_config("outbox", {**config, "heartbeat.interval.ms": "300"})


async def forget_connector(settings: Settings) -> None:
    """Delete the connector and its position, as after a move to another Connect cluster."""
    async with ConnectClient(settings.connect_url) as connect:
        await connect.stop("outbox")
        await connect.forget_offsets("outbox")
        await connect.delete("outbox")


def test_a_connector_made_anew_repeats_no_kept_row(
    ready: Settings, database: Database, events: TopicTail
) -> None:
    """CASES 38: a snapshot would send every row that is in the table, each as a new event to every target."""
    append(database, "kept")
    wait_for_key(events, b"kept")
    confirm(ready, database)
    asyncio.run(forget_connector(ready))
    append(database, "meanwhile")
    set_up(ready)
    append(database, "after")
    assert wait_for_key(events, b"after") == [b"kept", b"meanwhile", b"after"]


@contextmanager
def partitioned(database: Database) -> Iterator[None]:
    """The table in parts by month, as an operator would make it who wants to drop old rows at once."""
    database.execute("alter table outbox.outbox rename to outbox_plain")
    database.execute(
        "create table outbox.outbox (like outbox.outbox_plain including defaults including constraints)"
        " partition by range (created_at)"
    )
    database.execute("create table outbox.outbox_rest partition of outbox.outbox default")
    database.execute(
        "create table outbox.outbox_2026_03 partition of outbox.outbox for values from ('2026-03-01') to ('2026-04-01')"
    )
    database.execute("alter publication outbox add table outbox.outbox")
    try:
        yield
    finally:
        database.execute("drop table outbox.outbox")
        database.execute("alter table outbox.outbox_plain rename to outbox")


def test_rows_of_a_partitioned_table_are_events_like_others(database: Database, events: TopicTail) -> None:
    """CASES 40: of every part, those that come later too; they are published under the name of the whole table."""
    append(database, "before")
    wait_for_key(events, b"before")
    with partitioned(database):
        append(database, "now")
        database.execute(
            "insert into outbox.outbox (type, aggregate_type, aggregate_id, payload, created_at)"
            " values ('kept.tested', 'kept', 'in march', '{}', '2026-03-05')"
        )
        database.execute(
            "create table outbox.outbox_2026_04 partition of outbox.outbox"
            " for values from ('2026-04-01') to ('2026-05-01')"
        )
        database.execute(
            "insert into outbox.outbox (type, aggregate_type, aggregate_id, payload, created_at)"
            " values ('kept.tested', 'kept', 'in april', '{}', '2026-04-05')"
        )
        database.execute("drop table outbox.outbox_2026_03")
        assert wait_for_key(events, b"in april") == [b"before", b"now", b"in march", b"in april"]
