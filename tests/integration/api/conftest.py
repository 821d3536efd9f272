"""One API on a database of each module's own; each test's endpoints are gone after it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from tests.support.api import ApiClient, running_api

__all__ = ["api"]


@pytest.fixture
async def api(outbox_database_url: str) -> AsyncIterator[ApiClient]:
    """The API, and a client with the scope write."""
    async with running_api(outbox_database_url) as client:
        yield client
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.endpoints, outbox.audit, outbox.outbox")
