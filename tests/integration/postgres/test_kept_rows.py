"""Reading the outbox table in the order of time: whole, in bounded pages, and only where that is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from connectors.postgres.connection import connect
from connectors.postgres.kept_rows import KeptRow, KeptRows, RowPosition
from outbox.payload import MAX_PAYLOAD_BYTES

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def database(outbox_database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(outbox_database_url) as connection:
        connection.autocommit = True
        connection.execute("truncate outbox.outbox")
        yield connection


def insert(database: psycopg.Connection[Any], number: int, at: datetime, payload: str | None = "{}") -> None:
    database.execute(
        """
        insert into outbox.outbox (id, channel, type, aggregate_type, aggregate_id, payload, created_at)
        values (%s, %s, 'order.created', 'order', '42', %s, %s)
        """,
        [UUID(int=number), "events" if payload else "endpoints", payload, at],
    )


def read_all(rows: KeptRows, begin: datetime, end: datetime) -> list[list[KeptRow]]:
    position, pages = RowPosition.before(begin), []
    while page := rows.page(position, end=end):
        pages.append([*page])
        position = RowPosition(created_at=page[-1].created_at, id=page[-1].id)
    return pages


def test_rows_come_in_the_order_of_their_times_and_ids_and_none_twice(
    database: psycopg.Connection[Any],
) -> None:
    """[begin, end), however many have one time, and whatever the pages' bounds are."""
    with database.transaction():
        for number in range(1, 1_203):
            insert(database, 2_000 - number, NOON + SECOND * (number // 400))
    insert(database, 5_000, NOON - timedelta(microseconds=1))
    insert(database, 5_001, NOON + SECOND * 4)
    rows = KeptRows(database)
    pages = read_all(rows, NOON, NOON + SECOND * 4)
    read = [(row.created_at, row.id.int) for page in pages for row in page]
    assert read == sorted((NOON + SECOND * (number // 400), 2_000 - number) for number in range(1, 1_203))
    assert max(map(len, pages)) == 500
    assert rows.oldest() == NOON - timedelta(microseconds=1)
    counted = rows.count(RowPosition.before(NOON), end=NOON + SECOND * 4)
    assert counted == 1_202
    # More than is counted is guessed, and is not less.
    assert rows.count(RowPosition.before(NOON), end=NOON + SECOND * 4, exactly=100) > 100


def test_a_page_is_bounded_in_bytes_and_leaves_out_nothing(database: psycopg.Connection[Any]) -> None:
    """Of the largest payloads few are a page, and a row without one, which may stand between them, goes with them."""
    for number in range(1, 31):
        payload = None if number % 10 == 0 else "x" * MAX_PAYLOAD_BYTES
        insert(database, number, NOON + SECOND * number, payload)
    pages = read_all(KeptRows(database), NOON, NOON + SECOND * 60)
    assert [row.id.int for page in pages for row in page] == list(range(1, 31))
    assert max(sum(len(row.payload or "") for row in page) for page in pages) < 10 * 1024 * 1024


def test_a_large_table_is_paged_by_an_index_on_each_of_its_parts(database: psycopg.Connection[Any]) -> None:
    """Without one, each page would sort all of it. One of a part of the rows is none, nor one that has no order."""
    rows = KeptRows(database)
    insert(database, 1, NOON)
    assert rows.can_be_paged()
    assert not rows.can_be_paged(small_bytes=0)
    database.execute("create index partial on outbox.outbox (created_at, id) where channel = 'events'")
    assert not rows.can_be_paged(small_bytes=0)
    database.execute("create index unordered on outbox.outbox using brin (created_at)")
    assert not rows.can_be_paged(small_bytes=0)
    database.execute("create index concurrently outbox_by_created_at on outbox.outbox (created_at, id)")
    assert rows.can_be_paged(small_bytes=0)
    database.execute("set enable_seqscan = off")
    plan = database.execute(
        "explain select * from outbox.outbox where (created_at, id) > (now(), gen_random_uuid())"
        " order by created_at, id limit 500"
    ).fetchall()
    assert "outbox_by_created_at" in str(plan)
    database.execute("drop index outbox.outbox_by_created_at, outbox.partial, outbox.unordered")


def test_an_empty_table_has_no_oldest_row(database: psycopg.Connection[Any]) -> None:
    """And no page."""
    rows = KeptRows(database)
    assert rows.oldest() is None
    assert read_all(rows, NOON, NOON + SECOND) == []
    assert rows.count(RowPosition.before(NOON), end=NOON + SECOND) == 0
