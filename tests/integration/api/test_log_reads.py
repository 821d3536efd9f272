"""Reading a big log, or one that somebody holds: it has an end that is told, and holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
from structlog.testing import capture_logs

from tests.integration.api.conftest import Record
from tests.support.api import Reply, running_api
from tests.support.attempt_records import an_entry

LOG_READS = 16
MORE = 6


@contextmanager
def held(url: str) -> Iterator[psycopg.Connection[Any]]:
    """The log can't be read until the end of the block, or of the transaction."""
    with psycopg.connect(url) as holder:
        holder.execute("lock table outbox.deliveries in access exclusive mode")
        yield holder


async def test_a_list_that_cannot_be_read_in_time_says_what_to_do(
    outbox_database_url: str, record: Record
) -> None:
    """503, and how to ask for less; once it can be read, it is. A single delivery says to try again."""
    entry = an_entry()
    record(entry)
    one = f"/v1/deliveries/{entry.delivery.id}"
    async with running_api(outbox_database_url, log_read_within=timedelta(milliseconds=100)) as api:
        with held(outbox_database_url):
            reply = await api("GET", "/v1/deliveries?event_type=order.created")
            assert (reply.status, reply.kind) == (503, "unavailable")
            assert "`since` and `until`" in reply.json["detail"]
            assert reply.headers["Retry-After"]
            with capture_logs() as lines:
                reply = await api("GET", one)
            assert (reply.status, reply.kind) == (503, "unavailable")
            assert "database_too_slow" in [line["event"] for line in lines]
    async with running_api(outbox_database_url) as api:
        assert len((await api("GET", "/v1/deliveries?event_type=order.created")).json["items"]) == 1
        assert (await api("GET", one)).status == 200


async def test_a_log_that_is_too_big_for_a_question_says_so(outbox_database_url: str, record: Record) -> None:
    """A hundred thousand rows to be looked through, and a millisecond for it; with a time range it is answered."""
    record(an_entry("rejected"))
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            """
            insert into outbox.deliveries
            select created_at - number * interval '1 ms', gen_random_uuid(), event_id, event_type, target, origin,
                   status, attempts, error_code, error, http_status, next_attempt_at, replay_id, standing, attempt,
                   deferrals, last_attempt_at, last_attempt_id
            from outbox.deliveries, generate_series(1, 100000) number
            """
        )
    path = "/v1/deliveries?status=succeeded"
    async with running_api(outbox_database_url, log_read_within=timedelta(milliseconds=1)) as api:
        reply = await api("GET", path)
    assert (reply.status, reply.kind) == (503, "unavailable")
    assert "`since` and `until`" in reply.json["detail"]
    async with running_api(outbox_database_url) as api:
        assert (await api("GET", f"{path}&since=2026-03-02T00:00:00Z")).json["items"] == []


async def test_reads_of_the_log_hold_up_nothing_else_and_have_an_end(
    outbox_database_url: str, record: Record
) -> None:
    """While as many as there may be hang, more are told to come again at once, and endpoints are kept as ever."""
    record(an_entry())
    async with running_api(outbox_database_url, log_read_within=timedelta(minutes=2)) as patient:
        with held(outbox_database_url) as holder:
            tasks = {asyncio.create_task(patient("GET", "/v1/deliveries")) for _ in range(LOG_READS + MORE)}
            refused: set[asyncio.Task[Reply]] = set()
            while len(refused) < MORE:
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                refused |= done
            created = await patient.created()
            for _ in range(10):
                assert (await patient("GET", f"/v1/endpoints/{created['id']}")).status == 200
            assert not any(task.done() for task in tasks)
            holder.commit()
        for reply in (task.result() for task in refused):
            assert (reply.status, reply.kind, reply.headers["Retry-After"]) == (503, "unavailable", "1")
        assert len(tasks) == LOG_READS
        assert {(await task).status for task in tasks} == {200}
