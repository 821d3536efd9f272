"""The delivery log against a real Postgres: written in any order and read in pages."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest

from connectors.postgres.connection import connect
from connectors.postgres.delivery_log import DeliveryLog, page_statement
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import (
    CursorInvalidError,
    DatabaseUnreachableError,
    DeliveryNotFoundError,
    RowRefusedError,
    SchemaMissingError,
)
from connectors.postgres.log_rows import DeliveryRow
from connectors.postgres.logged_delivery import DeliveryQuery, LoggedDelivery
from streams.recorder.entry import Entry, read_entry
from streams.recorder.fold import fold
from tests.support.attempt_records import CREATED_AT_MS, a_life, an_entry

HOUR_MS = 3_600_000


@pytest.fixture
def url(outbox_database_url: str) -> Iterator[str]:
    yield outbox_database_url
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.deliveries, outbox.attempts")


@pytest.fixture
def writer(url: str) -> Iterator[DeliveryLogWriter]:
    writer = DeliveryLogWriter(url)
    yield writer
    writer.close()


@pytest.fixture
def log(url: str) -> Iterator[DeliveryLog]:
    with connect(url) as connection:
        yield DeliveryLog(connection)


def write(writer: DeliveryLogWriter, *entries: Entry) -> None:
    writer.write([entry.attempt for entry in entries], fold(entries))


def lives(count: int, *, seed: int) -> list[Entry]:
    """All entries of so many deliveries, and as many of them again with other ids: what a crash may leave."""
    random = Random(seed)
    entries = [
        read_entry(value)
        for number in range(count)
        for value in a_life(random, created_at_ms=CREATED_AT_MS + number * HOUR_MS)
    ]
    repeated = [
        Entry(
            entry.attempt._replace(id=other),
            entry.delivery._replace(last_attempt_id=other),
        )
        for entry in random.sample(entries, len(entries) // 3)
        if (other := str(UUID(int=random.getrandbits(128), version=4)))
    ]
    return [*entries, *repeated]


def stored_deliveries(url: str) -> set[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        connection.execute("set timezone to 'UTC'")
        columns = ", ".join(
            f"{name}::text" if name in {"id", "event_id", "last_attempt_id"} else name
            for name in DeliveryRow._fields
        )
        return set(connection.execute(f"select {columns} from outbox.deliveries").fetchall())  # noqa: S608


def stored_attempts(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [text for (text,) in connection.execute("select id::text from outbox.attempts order by 1")]


@pytest.mark.parametrize("seed", range(3))
def test_the_log_is_the_same_in_whatever_order_it_is_written(
    writer: DeliveryLogWriter, url: str, seed: int
) -> None:
    """CASES 43: shuffled, repeated, cut into batches of any size: Postgres ends with what one fold of all gives."""
    random = Random(seed)
    entries = lives(60, seed=seed)
    shuffled = random.choices(entries, k=len(entries)) + entries
    random.shuffle(shuffled)
    while shuffled:
        size = random.randint(1, 40)
        write(writer, *shuffled[:size])
        del shuffled[:size]
    assert stored_deliveries(url) == set(map(tuple, fold(entries)))
    assert stored_attempts(url) == sorted(entry.attempt.id for entry in entries)


def test_two_writers_at_once_write_what_one_would(url: str) -> None:
    """Both of a rebalance, each with the same records in its own batches: no deadlock, and one result."""
    entries = lives(300, seed=7)

    def write_all(seed: int) -> None:
        random, mine = Random(seed), [*entries]
        random.shuffle(mine)
        writer = DeliveryLogWriter(url)
        for begin in range(0, len(mine), 50):
            write(writer, *mine[begin : begin + 50])
        writer.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write_all, range(3)))
    assert stored_deliveries(url) == set(map(tuple, fold(entries)))
    assert len(stored_attempts(url)) == len(entries)


def test_a_batch_with_a_row_that_is_refused_leaves_nothing(writer: DeliveryLogWriter, url: str) -> None:
    """All or nothing, so that the rest can be written without it; the next batch goes through."""
    good = an_entry()
    bad = Entry(good.attempt._replace(error="a\0b"), good.delivery)
    with pytest.raises(RowRefusedError) as caught:
        write(writer, an_entry("rejected", event_id=str(UUID(int=3))), bad)
    assert "a\0b" not in str(caught.value)
    assert stored_attempts(url) == []
    write(writer, good)
    assert stored_attempts(url) == [good.attempt.id]


def test_a_writer_goes_on_after_its_connection_was_lost(writer: DeliveryLogWriter, url: str) -> None:
    """Postgres restarted, or somebody ended the session: one error, then a new connection."""
    write(writer, an_entry())
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'outbox-recorder'"
            " and datname = current_database()"
        )
    with pytest.raises(DatabaseUnreachableError):
        write(writer, an_entry())
    write(writer, an_entry("retried", event_id=str(UUID(int=4))))
    assert len(stored_deliveries(url)) == 2


def test_before_setup_it_says_so(fresh_database_url: str) -> None:
    """A recorder that is started first waits for `outbox setup`, and can say what for."""
    writer = DeliveryLogWriter(fresh_database_url)
    with pytest.raises(SchemaMissingError, match="outbox setup"):
        write(writer, an_entry())


def ids(deliveries: tuple[LoggedDelivery, ...]) -> list[str]:
    return [str(delivery.id) for delivery in deliveries]


def test_pages_are_newest_first_and_whole(writer: DeliveryLogWriter, log: DeliveryLog) -> None:
    """Over several days and with equal times, every delivery stands on one page, once."""
    entries = [
        an_entry(
            event_id=str(UUID(int=number)), event_created_at_ms=CREATED_AT_MS + number // 2 * HOUR_MS * 5
        )
        for number in range(25)
    ]
    write(writer, *entries)
    seen: list[str] = []
    cursor, pages = None, 0
    while True:
        page = log.list(DeliveryQuery(), limit=4, cursor=cursor)
        seen += ids(page.deliveries)
        pages += 1
        if (cursor := page.next_cursor) is None:
            break
    rows = sorted((entry.delivery for entry in entries), key=lambda row: (row.created_at, row.id))
    assert seen == [row.id for row in reversed(rows)]
    assert pages == 7
    assert log.list(DeliveryQuery(), limit=25).next_cursor is None
    with pytest.raises(CursorInvalidError):
        log.list(DeliveryQuery(), limit=4, cursor="page-2")


def test_filters(writer: DeliveryLogWriter, log: DeliveryLog) -> None:
    """By target, event, type, status and time, alone and together."""
    event = str(UUID(int=9))
    late_ms = CREATED_AT_MS + 50 * HOUR_MS
    one = an_entry(event_id=event)
    two = an_entry("rejected", event_id=event, target="handler:bill")
    three = an_entry(
        "retried", event_id=str(UUID(int=10)), event_type="user.left", event_created_at_ms=late_ms
    )
    write(writer, one, two, three)

    def found(**conditions: Any) -> set[str]:
        return set(ids(log.list(DeliveryQuery(**conditions), limit=10).deliveries))

    id_one, id_two, id_three = (entry.delivery.id for entry in (one, two, three))
    late = datetime.fromtimestamp(late_ms / 1000, UTC)
    assert found(event_id=UUID(event)) == {id_one, id_two}
    assert found(target="handler:bill") == {id_two}
    assert found(target="endpoint:ep_1") == {id_one, id_three}
    assert found(event_type="user.left") == {id_three}
    assert found(statuses=frozenset({"failed", "retrying"})) == {id_two, id_three}
    assert found(statuses=frozenset({"succeeded"}), event_type="order.created") == {id_one}
    assert found(statuses=frozenset({"retrying"}), target="handler:bill") == set()
    assert found(since=late) == {id_three}
    assert found(until=late) == {id_one, id_two}
    assert found(since=late - timedelta(days=1), until=late + timedelta(days=1)) == {id_three}


def test_a_delivery_is_shown_with_its_attempts(writer: DeliveryLogWriter, log: DeliveryLog) -> None:
    """Oldest first, whatever the order of writing; an id that there is none of says what to do."""
    first = an_entry("retried", attempt_id=str(UUID(int=1)))
    second = an_entry(attempt=2, attempt_id=str(UUID(int=2)), started_at_ms=CREATED_AT_MS + 9_000)
    write(writer, second)
    write(writer, first, an_entry(event_id=str(UUID(int=5))))
    delivery, attempts = log.get(first.delivery.id)
    assert (delivery.status, delivery.attempts, delivery.http_status) == ("succeeded", 2, 204)
    assert (delivery.error, delivery.next_attempt_at, delivery.replay_id) == (None, None, None)
    assert delivery.created_at == first.dated_at
    assert [attempt.outcome for attempt in attempts] == ["failed", "succeeded"]
    assert (attempts[0].excerpt, attempts[0].next) == ("maintenance", "outbox.retry-4s")
    assert log.get(first.delivery.id, newest=1) == (delivery, attempts[1:])
    assert {field.name for field in fields(attempts[0])} >= {"started_at", "duration_ms", "http_status"}
    for unknown in ("ep_1", str(UUID(int=1)), first.delivery.id[:-1] + "0"):
        with pytest.raises(DeliveryNotFoundError, match="outbox deliveries list"):
            log.get(unknown)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (DeliveryQuery(target="endpoint:ep_1"), "target"),
        (DeliveryQuery(event_type="order.created"), "event_type"),
        (DeliveryQuery(event_id=UUID(int=1)), "event_id"),
        (DeliveryQuery(statuses=frozenset({"failed"})), "created_at_id_idx"),
        (DeliveryQuery(), "pkey"),
    ],
)
def test_lists_are_read_from_an_index_without_sorting(
    writer: DeliveryLogWriter, url: str, query: DeliveryQuery, index: str
) -> None:
    """A page costs what is on it, not what is in the log: no whole partition is read or sorted for it."""
    write(writer, *lives(200, seed=1))
    statement, values = page_statement(query, limit=10, cursor=None)
    with connect(url) as connection:
        connection.execute("analyze outbox.deliveries")
        connection.execute("set enable_seqscan = off")  # days as small as these would be read whole
        plan = "\n".join(line for (line,) in connection.execute(f"explain {statement}", values))
    assert index in plan, plan
    assert "Seq Scan" not in plan
    if index != "event_id":
        assert "Sort" not in plan, plan
