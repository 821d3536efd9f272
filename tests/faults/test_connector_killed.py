"""Kafka Connect killed with -9 in the middle of one transaction's rows: every row arrives (INV-1, case 37)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from devstack.stack import EmbeddedStack, temporary_stack
from streams.settings import Settings
from streams.setup import run_setup
from tests.support.topics import TopicTail

ROWS = 20_000
_COLUMNS = "id, channel, type, aggregate_type, aggregate_id, payload, content_type, headers, created_at"


@pytest.fixture
def own_stack() -> Iterator[EmbeddedStack]:
    with temporary_stack() as started:
        yield started


async def set_up_with_small_batches(stack: EmbeddedStack) -> None:
    """Small batches let positions be stored, and the kill fall, in the middle of what one WAL record could hold."""
    url = stack.settings.database_url
    settings = Settings(
        database_url=url,  # type: ignore[arg-type]  # pydantic makes it a secret
        kafka_bootstrap_servers=stack.settings.kafka_bootstrap_servers,
        connect_url=stack.settings.connect_url,
        tiers=(timedelta(seconds=1),),
    )
    await run_setup(settings, dry_run=False, on_step=lambda _: None)
    small = {"max.batch.size": "7", "max.queue.size": "28"}
    async with ConnectClient(stack.settings.connect_url) as connect:
        await connect.put_config("outbox", {**connector_config(url, poll_interval_ms=5), **small})


async def test_no_row_of_a_copy_is_lost_when_the_connector_is_killed(own_stack: EmbeddedStack) -> None:
    """COPY with every column given is what put many rows at one position in the WAL; Debezium then skipped the rest.

    Rows may come twice: delivery is at least once, and the id tells (INV-4).
    """
    await set_up_with_small_batches(own_stack)
    tail = TopicTail(own_stack.settings.kafka_bootstrap_servers, "outbox.events")
    ids = {str(uuid4()) for _ in range(ROWS)}
    with psycopg.connect(own_stack.settings.database_url) as connection:
        copy(connection, ids)

    tail.wait_until(lambda records: len(records) >= ROWS // 20, what="the first of the rows")
    connect = own_stack.service("connect")
    connect.kill()
    assert len({record.event_id for record in tail.to_the_end()}) < ROWS, "killed too late to show anything"
    connect.start()
    connect.wait_ready()

    records = tail.wait_until(lambda records: {record.event_id for record in records} >= ids, what="all rows")
    tail.close()
    assert {record.event_id for record in records} == ids


def copy(connection: psycopg.Connection[Any], ids: set[str]) -> None:
    with connection.cursor().copy(f"copy outbox.outbox ({_COLUMNS}) from stdin") as rows:
        for event_id in ids:
            rows.write_row(
                (event_id, "events", "copied", "order", event_id, "{}", "text/plain", "{}", datetime.now(UTC))
            )
