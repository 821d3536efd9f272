"""The API under load: the wait for a row that somebody holds is short, and what is at work has an end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.support.api import ApiClient, Reply, running_api

AT_WORK = 64
MORE = 16
LONG = timedelta(seconds=30)


@contextmanager
def held(url: str, endpoint_id: str) -> Iterator[psycopg.Connection[Any]]:
    """The endpoint's row is locked until the end of the block, or of the transaction."""
    with psycopg.connect(url) as holder:
        holder.execute("select 1 from outbox.endpoints where id = %s for update", [endpoint_id])
        yield holder


@pytest.fixture
async def path(api: ApiClient) -> str:
    return f"/v1/endpoints/{(await api.created())['id']}"


async def test_a_change_that_has_to_wait_holds_up_no_other_request(
    api: ApiClient, path: str, outbox_database_url: str
) -> None:
    """The loop goes on while a thread waits for the lock."""
    async with running_api(outbox_database_url, lock_within=LONG) as patient:
        with held(outbox_database_url, path.rpartition("/")[2]) as holder:
            waiting = asyncio.create_task(patient("PATCH", path, {"description": "x"}))
            for _ in range(5):
                assert (await patient("GET", path)).status == 200
            assert not waiting.done()
            holder.commit()
        assert (await waiting).status == 200
    assert (await api("GET", path)).json["description"] == "x"


async def test_the_wait_for_a_held_row_ends_soon(api: ApiClient, path: str, outbox_database_url: str) -> None:
    """503 with when to come again and nothing done; so more of them than there are threads don't end the service."""
    with held(outbox_database_url, path.rpartition("/")[2]):
        changes = [asyncio.create_task(api("PATCH", path, {"description": "x"})) for _ in range(24)]
        # With a wait of seconds, the last of them would meet the deadline of their requests before it is their turn.
        replies = [await change for change in changes]
        assert (await api("GET", path)).status == 200
    for reply in replies:
        assert (reply.status, reply.kind, reply.headers["Retry-After"]) == (503, "unavailable", "2")
        assert "holds it" in reply.json["detail"]
    assert (await api("GET", path)).json["description"] == ""


async def test_beyond_what_can_be_at_work_a_request_is_told_to_come_again(
    path: str, outbox_database_url: str
) -> None:
    """At once, and with when; those before it are done when their turn comes."""
    async with running_api(outbox_database_url, lock_within=LONG) as api:
        await _fill(api, path, outbox_database_url)


async def _fill(api: ApiClient, path: str, url: str) -> None:
    async def change(number: int) -> Reply:
        return await api("PATCH", path, {"metadata": {str(number % 40): str(number)}})

    with held(url, path.rpartition("/")[2]) as holder:
        tasks = {asyncio.create_task(change(number)) for number in range(AT_WORK + MORE)}
        refused: set[asyncio.Task[Reply]] = set()
        while len(refused) < MORE:
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            refused |= done
        holder.commit()
    for reply in (task.result() for task in refused):
        assert (reply.status, reply.kind, reply.headers["Retry-After"]) == (503, "unavailable", "1")
    assert {(await task).status for task in tasks} == {200}
    assert len(tasks) == AT_WORK
