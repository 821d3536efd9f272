"""The API under load: nobody waits for a row that somebody else holds, and there is an end to what is at work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.support.api import ApiClient, Reply

AT_WORK = 64
MORE = 16


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
    """The loop goes on while a thread waits for the lock; the wait has an end, and then it is 503 with nothing done."""
    with held(outbox_database_url, path.rpartition("/")[2]):
        waiting = asyncio.create_task(api("PATCH", path, {"description": "x"}))
        for _ in range(5):
            assert (await api("GET", path)).status == 200
        assert not waiting.done()
        reply = await waiting
    assert (reply.status, reply.kind) == (503, "unavailable")
    assert (await api("GET", path)).json["description"] == ""


async def test_beyond_what_can_be_at_work_a_request_is_told_to_come_again(
    api: ApiClient, path: str, outbox_database_url: str
) -> None:
    """At once, and with when; those before it are done when their turn comes."""

    async def change(number: int) -> Reply:
        return await api("PATCH", path, {"metadata": {str(number % 40): str(number)}})

    with held(outbox_database_url, path.rpartition("/")[2]) as holder:
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
