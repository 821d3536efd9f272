"""A Postgres that is away, or silent: requests are answered, and the API is back when it is, or can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import aiohttp
import psycopg
import pytest
from structlog.testing import capture_logs

from streams.api.stores import AT_WORK
from tests.support.api import running_api
from tests.support.eventually import eventually
from tests.support.tcp_proxy import TcpProxy

THREADS = 8


@pytest.fixture
def proxy(outbox_database_url: str) -> Iterator[TcpProxy]:
    """What the API reaches Postgres through."""
    parts = urlsplit(outbox_database_url)
    assert parts.hostname is not None
    assert parts.port is not None
    with TcpProxy("127.0.0.1", 0, upstream=(parts.hostname, parts.port)) as between:
        yield between


@pytest.fixture
def proxied_url(outbox_database_url: str, proxy: TcpProxy) -> str:
    """The database's address through the proxy."""
    parts = urlsplit(outbox_database_url)
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}@{proxy.netloc}" if user else proxy.netloc).geturl()


async def test_the_api_is_back_when_postgres_is(proxied_url: str, proxy: TcpProxy) -> None:
    """The first request after an outage is answered, though every thread has waited in vain meanwhile.

    Its connection is begun for it, rather than when a pause that grew with the outage is over; and those that gave up
    waiting don't count as waiting any longer.
    """
    async with running_api(proxied_url) as api:
        assert (await api("GET", "/v1/endpoints")).status == 200
        proxy.refuse()
        for _ in range(2):
            refused = await asyncio.gather(*(api("GET", "/v1/endpoints") for _ in range(THREADS)))
            assert {(reply.status, reply.kind) for reply in refused} == {(503, "unavailable")}
        proxy.accept()
        assert (await api("GET", "/v1/endpoints")).status == 200


async def test_a_silent_postgres_holds_up_neither_requests_nor_the_end(
    proxied_url: str, proxy: TcpProxy
) -> None:
    """More requests than threads get 503, and once it answers again, the threads are free; the API stops in silence.

    The proxy takes what is sent, so no timeout of TCP would ever end this.
    """
    async with running_api(proxied_url) as api:
        assert (await api("GET", "/v1/endpoints")).status == 200
        proxy.stall()
        replies = await asyncio.gather(*(api("GET", "/v1/endpoints") for _ in range(THREADS + 2)))
        assert {(reply.status, reply.kind) for reply in replies} == {(503, "unavailable")}
        proxy.flow()
        replies = await asyncio.gather(*(api("GET", "/v1/endpoints") for _ in range(THREADS)))
        assert {reply.status for reply in replies} == {200}
        proxy.stall()
        # Stopped while this is at work: the end would never come if the thread were waited for.
        left = asyncio.create_task(api("GET", "/v1/endpoints"))
        room = api.server._stores.database._room
        await asyncio.to_thread(eventually, lambda: room._value < AT_WORK, what="a request at work")
        await api.server.stop()
        with suppress(aiohttp.ClientError):
            await left


async def test_tables_of_an_older_version_are_no_defect(outbox_database_url: str) -> None:
    """503 until `outbox setup` has run, as with no tables at all; the log says that."""
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("alter table outbox.endpoints rename column headers to headers_to_come")
    try:
        async with running_api(outbox_database_url) as api:
            with capture_logs() as lines:
                reply = await api("GET", "/v1/endpoints")
    finally:
        with psycopg.connect(outbox_database_url) as connection:
            connection.execute("alter table outbox.endpoints rename column headers_to_come to headers")
    assert (reply.status, reply.kind) == (503, "unavailable")
    assert "outbox setup" in next(line["error"] for line in lines if line["event"] == "database_unavailable")
