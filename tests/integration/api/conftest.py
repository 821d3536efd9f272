"""One API on a database of each module's own; each test's endpoints, and its log, are gone after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import psycopg
import pytest

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.entry import Entry
from streams.recorder.fold import fold
from tests.support.api import ApiClient, running_api

__all__ = ["Record", "api", "record"]

Record = Callable[..., None]


@pytest.fixture
async def api(outbox_database_url: str) -> AsyncIterator[ApiClient]:
    """The API, and a client with the scope write."""
    async with running_api(outbox_database_url) as client:
        yield client
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.endpoints, outbox.audit, outbox.outbox")


@pytest.fixture
def record(outbox_database_url: str) -> Iterator[Record]:
    """Write entries into the delivery log, as the recorder does: `record(entry, …)`."""
    writer = DeliveryLogWriter(outbox_database_url)

    def write(*entries: Entry) -> None:
        writer.write([entry.attempt for entry in entries], fold(entries))

    yield write
    writer.close()
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.deliveries, outbox.attempts")
