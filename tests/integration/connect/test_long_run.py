"""What bites after days: an idle outbox, a failed task, restarts of what the connector leans on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from connectors.kafka_connect.status import ConnectorStatus
from connectors.kafka_connect.watch import ConnectorWatch, RestartPolicy
from devstack.stack import EmbeddedStack
from streams.settings import Settings
from tests.support.eventually import eventually
from tests.support.topics import TopicTail

LAG = """
select pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn) from pg_replication_slots
 where slot_name = 'outbox'
"""


def lag_bytes(database: psycopg.Connection[Any]) -> int:
    row = database.execute(LAG).fetchone()
    assert row is not None
    return int(row[0])


async def test_an_idle_outbox_keeps_no_wal(ready: Settings, database: psycopg.Connection[Any]) -> None:
    """Other tables write, the outbox doesn't: the heartbeat's query moves the slot on (case 39).

    Without it the slot stays where the last outbox row was, and the disk fills. The interval is cut for the
    test.
    """
    config = connector_config(ready.database_url.get_secret_value(), poll_interval_ms=5)
    async with ConnectClient(ready.connect_url) as connect:
        await connect.put_config("outbox", {**config, "heartbeat.interval.ms": "300"})
    database.execute("create table if not exists busy (text text)")
    database.execute("insert into busy select repeat('x', 1000) from generate_series(1, 10000)")
    assert lag_bytes(database) > 5_000_000
    await asyncio.to_thread(eventually, lambda: lag_bytes(database) < 500_000, what="the slot to move on")


@dataclass
class RepairedLater:
    """Kafka Connect, and an operator who repairs the cause once the watch has restarted the task in vain."""

    connect: ConnectClient
    repair: Callable[[], object]
    well: asyncio.Event = field(default_factory=asyncio.Event)
    restarts: int = 0

    async def status(self, name: str) -> ConnectorStatus | None:
        found = await self.connect.status(name)
        # A task says RUNNING for a moment before it fails: only after the repair is that a sign of health.
        if self.restarts > 1 and found is not None and found.running:
            self.well.set()
        return found

    async def restart_failed(self, name: str) -> None:
        if self.restarts == 1:
            self.repair()
        await self.connect.restart_failed(name)
        self.restarts += 1


async def test_a_failed_task_is_restarted_until_it_runs(
    ready: Settings, database: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A failed task stays failed; the watch restarts it, says why, counts, and goes on until it runs."""
    counted: list[None] = []
    async with ConnectClient(ready.connect_url) as connect:
        await connect.stop("outbox")
        database.execute("alter publication outbox rename to elsewhere")
        await connect.resume("outbox")
        scene = RepairedLater(
            connect, repair=lambda: database.execute("alter publication elsewhere rename to outbox")
        )
        await failed(connect)
        policy = RestartPolicy(
            look_every=timedelta(milliseconds=100), first_pause=timedelta(milliseconds=500)
        )
        watch = ConnectorWatch(connect=scene, policy=policy, on_restart=lambda: counted.append(None))
        async with asyncio.timeout(60):
            await watch.run(scene.well)
    assert len(counted) == scene.restarts >= 2
    assert "restarting the connector name=outbox restarts=2 reason=" in caplog.text
    assert "ublication" in caplog.text


async def failed(connect: ConnectClient) -> None:
    """Wait until the task has failed."""
    async with asyncio.timeout(30):
        while True:
            status = await connect.status("outbox")
            if status is not None and status.failed:
                return
            await asyncio.sleep(0.05)


def test_rows_go_on_after_postgres_was_killed(
    own_stack: EmbeddedStack, ready: Settings, events: TopicTail
) -> None:
    """Debezium finds its way back by itself, and nothing that was committed before or after is missed."""
    url = ready.database_url.get_secret_value()
    postgres = own_stack.service("postgres")
    for key in ("before", "after"):
        with psycopg.connect(url) as connection:
            connection.execute("select outbox.append('x', 'long-run', %s, '1')", [key])
        postgres.kill()
        postgres.start()
        postgres.wait_ready()
    events.wait_until(
        lambda records: {b"before", b"after"} <= {record.key for record in records}, what="both rows"
    )
