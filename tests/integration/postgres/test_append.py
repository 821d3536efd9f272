"""`append` against a real Postgres: the event and the business row are one, and the payload stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

import outbox
from outbox import ConnectionMisusedError, InvalidFieldError, OutboxNotSetUpError, OutboxRow
from outbox.append import BYTES_PER_STATEMENT, ROWS_PER_STATEMENT
from outbox.payload import MAX_PAYLOAD_BYTES

VALID: dict[str, Any] = {"type": "order.created", "aggregate": ("order", "42"), "payload": "{}"}

payloads = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(
    lambda text: any(character > " " for character in text)
)


@pytest.fixture(scope="module")
def url(outbox_database_url: str) -> str:
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("create table public.orders (id text primary key)")
    return outbox_database_url


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a connection in a transaction that is rolled back at the end: a test leaves no rows to the next."""
    with psycopg.connect(url) as connection:
        yield connection
        connection.rollback()


def stored(connection: psycopg.Connection[Any], columns: str = "id") -> list[Any]:
    query = f"select {columns} from outbox.outbox order by id"  # noqa: S608 - columns are the tests' own
    return connection.execute(query).fetchall()


def rows(count: int, payload: object = "{}") -> list[OutboxRow]:
    return [
        OutboxRow.of(type="order.created", aggregate=("order", str(number)), payload=payload)
        for number in range(count)
    ]


def test_an_event_is_stored_with_all_that_was_given(connection: psycopg.Connection[Any]) -> None:
    """Every field arrives in its column, and the id that is returned is the row's."""
    event_id = outbox.append(
        connection,
        type="order.created",
        aggregate=("order", "42"),
        payload={"total": "9.90"},
        headers={"traceparent": "00-1"},
        content_type="application/cloudevents+json",
    )
    connection.row_factory = dict_row
    [row] = stored(connection, "*, clock_timestamp() - created_at as age")
    assert row.pop("created_at").tzinfo is not None
    assert 0 <= row.pop("age").total_seconds() < 60
    assert row == {
        "id": event_id,
        "channel": "events",
        "type": "order.created",
        "aggregate_type": "order",
        "aggregate_id": "42",
        "payload": '{"total":"9.90"}',
        "content_type": "application/cloudevents+json",
        "headers": {"traceparent": "00-1"},
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(payloads)
def test_a_payload_is_stored_byte_for_byte(connection: psycopg.Connection[Any], payload: str) -> None:
    """INV-5, as far as the table: spaces, duplicate keys, escapes and every character stay, alone and in a batch."""
    connection.execute("delete from outbox.outbox")
    outbox.append(connection, **VALID | {"payload": payload.encode()})
    outbox.append_many(connection, rows(2, payload))
    octets = stored(connection, "convert_to(payload, 'UTF8')")
    assert octets == [(payload.encode(),)] * 3


def test_a_payload_at_the_limit_is_stored(connection: psycopg.Connection[Any]) -> None:
    """Library and table agree on the last byte."""
    outbox.append(connection, **VALID | {"payload": "é" * (MAX_PAYLOAD_BYTES // 2)})
    assert stored(connection, "octet_length(payload)") == [(MAX_PAYLOAD_BYTES,)]


def test_the_event_is_there_if_and_only_if_the_business_row_is(url: str) -> None:
    """INV-1 begins here: a rolled back transaction leaves neither, a committed one leaves both."""
    with psycopg.connect(url) as connection:
        for order, commit in (("kept", True), ("lost", False)):
            connection.execute("insert into public.orders values (%s)", (order,))
            outbox.append(connection, type="order.created", aggregate=("order", order), payload="{}")
            if commit:
                connection.commit()
            else:
                connection.rollback()
    with psycopg.connect(url) as connection:
        assert connection.execute("select id from public.orders").fetchall() == [("kept",)]
        assert stored(connection, "aggregate_id") == [("kept",)]
        connection.execute("delete from outbox.outbox")


def test_append_neither_commits_nor_rolls_back(connection: psycopg.Connection[Any]) -> None:
    """The transaction is the caller's, before and after; an error of validation leaves it as it was."""
    outbox.append(connection, **VALID)
    assert connection.info.transaction_status is TransactionStatus.INTRANS
    with pytest.raises(InvalidFieldError):
        outbox.append(connection, **VALID | {"payload": "\0"})
    assert connection.info.transaction_status is TransactionStatus.INTRANS
    assert len(stored(connection)) == 1
    connection.rollback()
    assert stored(connection) == []


def test_a_savepoint_takes_its_events_back(connection: psycopg.Connection[Any]) -> None:
    """A nested transaction that fails takes its events with it, and no others."""
    kept = outbox.append(connection, **VALID)
    with connection.transaction(force_rollback=True):
        outbox.append(connection, **VALID)
    assert stored(connection) == [(kept,)]


def test_outside_of_a_transaction_append_refuses(url: str) -> None:
    """In autocommit mode the event would be committed whatever becomes of the business row."""
    with psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(
            ConnectionMisusedError, match=r"Call it inside `with connection\.transaction\(\):`"
        ):
            outbox.append(connection, **VALID)
        with pytest.raises(ConnectionMisusedError, match="append_many was called in autocommit mode"):
            outbox.append_many(connection, rows(1))
        assert stored(connection) == []
        with connection.transaction(force_rollback=True):
            outbox.append(connection, **VALID)
            outbox.append_many(connection, rows(1))
            assert len(stored(connection)) == 2
        assert stored(connection) == []


def test_the_connection_may_be_set_up_in_any_way(url: str) -> None:
    """Row factory, cursor factory, search_path, adapters and client encoding are the application's own."""
    with psycopg.connect(
        url,
        row_factory=dict_row,
        cursor_factory=psycopg.RawCursor,
        options="-c search_path=public",
        client_encoding="latin1",
    ) as connection:
        connection.adapters.register_dumper(str, psycopg.types.string.StrDumper)
        outbox.append(connection, **VALID | {"payload": "é", "headers": {"a": "b"}})
        outbox.append_many(connection, rows(2, "é"))
        assert stored(connection, "convert_to(payload, 'UTF8') as octets") == [{"octets": "é".encode()}] * 3
        connection.rollback()


def test_the_role_needs_no_more_than_to_insert(url: str) -> None:
    """An application may write to the outbox without reading it, as the documentation grants it."""
    with psycopg.connect(url) as connection:
        connection.execute("create role test_appender")
        connection.execute("set local role test_appender")
        with (
            pytest.raises(OutboxNotSetUpError, match="grant usage on schema outbox"),
            connection.transaction(),
        ):
            outbox.append(connection, **VALID)
        connection.execute("reset role")
        connection.execute("grant usage on schema outbox to test_appender")
        connection.execute("grant insert on outbox.outbox to test_appender")
        connection.execute("set local role test_appender")
        outbox.append(connection, **VALID)
        outbox.append_many(connection, rows(2))
        connection.execute("select outbox.append('order.created', 'order', '42', '{}')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            stored(connection)
        connection.rollback()


def test_pipeline_mode(connection: psycopg.Connection[Any]) -> None:
    """In a pipeline the event goes out with the business row, in one round trip."""
    with connection.pipeline():
        connection.execute("insert into public.orders values ('piped')")
        outbox.append(connection, **VALID)
        outbox.append_many(connection, rows(3))
    assert len(stored(connection)) == 4
    assert connection.info.transaction_status is TransactionStatus.INTRANS


def count_statements(connection: psycopg.Connection[Any]) -> None:
    connection.execute("create temporary table statements (n int) on commit drop")
    connection.execute(
        "create function pg_temp.count_statement() returns trigger language plpgsql as "
        "$$ begin insert into pg_temp.statements values (1); return null; end $$"
    )
    connection.execute(
        "create trigger counting after insert on outbox.outbox "
        "for each statement execute function pg_temp.count_statement()"
    )


def counted(connection: psycopg.Connection[Any]) -> int:
    [(count,)] = connection.execute("select count(*) from pg_temp.statements").fetchall()
    return int(count)


def test_an_event_is_one_statement(connection: psycopg.Connection[Any]) -> None:
    """One round trip an event, one for a batch of a thousand: counted by the server."""
    count_statements(connection)
    outbox.append(connection, **VALID)
    assert counted(connection) == 1
    outbox.append_many(connection, rows(ROWS_PER_STATEMENT))
    assert counted(connection) == 2


def test_a_batch_is_stored_whole_and_in_order(connection: psycopg.Connection[Any]) -> None:
    """More rows than one statement takes: all arrive, under the ids that are returned, in the order given."""
    batch = rows(2 * ROWS_PER_STATEMENT + 1)
    assert outbox.append_many(connection, iter(batch)) == tuple(row.id for row in batch)
    assert {event_id for (event_id,) in stored(connection)} == {row.id for row in batch}
    written = connection.execute("select aggregate_id from outbox.outbox order by ctid").fetchall()
    assert written == [(str(number),) for number in range(len(batch))]


def test_a_batch_of_large_payloads_is_split(connection: psycopg.Connection[Any]) -> None:
    """A batch of any size is written in statements of a bounded size."""
    a_statement = -(-BYTES_PER_STATEMENT // MAX_PAYLOAD_BYTES)
    count_statements(connection)
    outbox.append_many(connection, rows(2 * a_statement + 1, "x" * MAX_PAYLOAD_BYTES))
    assert counted(connection) == 3
    assert stored(connection, "octet_length(payload)") == [(MAX_PAYLOAD_BYTES,)] * (2 * a_statement + 1)


def test_an_empty_batch_writes_nothing(connection: psycopg.Connection[Any]) -> None:
    """No rows, no statement, no error."""
    assert outbox.append_many(connection, []) == ()
    assert connection.info.transaction_status is TransactionStatus.IDLE


def test_a_batch_with_an_invalid_event_writes_nothing(connection: psycopg.Connection[Any]) -> None:
    """All rows exist, and so are valid, before the first is written: also when a generator makes them."""
    with pytest.raises(InvalidFieldError):
        outbox.append_many(connection, (OutboxRow.of(**VALID | {"payload": text}) for text in ("{}", "\0")))
    assert stored(connection) == []


def test_a_batch_that_the_database_refuses_is_refused_whole(connection: psycopg.Connection[Any]) -> None:
    """An id that is taken, in the last of several statements, leaves none of the batch."""
    taken = outbox.append(connection, **VALID)
    batch = [*rows(ROWS_PER_STATEMENT), OutboxRow.of(**VALID | {"id": taken})]
    with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
        outbox.append_many(connection, batch)
    assert stored(connection) == [(taken,)]


def test_an_id_of_the_callers_own_is_kept(connection: psycopg.Connection[Any]) -> None:
    """INV-4: the webhook id is the row's id; a caller that has one may give it, once."""
    event_id = uuid4()
    assert outbox.append(connection, **VALID | {"id": event_id}) == event_id
    assert stored(connection) == [(event_id,)]


def test_a_database_without_the_table_says_what_to_do(fresh_database_url: str) -> None:
    """The commonest first mistake: `outbox setup` has not run there."""
    with psycopg.connect(fresh_database_url) as connection:
        with pytest.raises(OutboxNotSetUpError, match="Run `outbox setup`"), connection.transaction():
            outbox.append(connection, **VALID)
        with pytest.raises(OutboxNotSetUpError, match="Run `outbox setup`"):
            outbox.append_many(connection, rows(1))


async def test_the_async_forms_do_the_same(url: str) -> None:
    """On an AsyncConnection: stored with the transaction, gone with it, refused without one, piped."""
    connection = await psycopg.AsyncConnection.connect(url, row_factory=dict_row)
    async with connection:
        event_id = await outbox.append_async(connection, **VALID | {"headers": {"a": "b"}})
        ids = await outbox.append_many_async(connection, rows(3))
        assert await stored_async(connection) == sorted([event_id, *ids])
        await connection.rollback()
        assert await stored_async(connection) == []
        async with connection.pipeline():
            await outbox.append_async(connection, **VALID)
            await outbox.append_many_async(connection, rows(2))
        assert len(await stored_async(connection)) == 3
        await connection.rollback()
        await connection.set_autocommit(True)
        with pytest.raises(ConnectionMisusedError, match="append_async was called in autocommit mode"):
            await outbox.append_async(connection, **VALID)
        with pytest.raises(ConnectionMisusedError, match="append_many_async was called in autocommit mode"):
            await outbox.append_many_async(connection, rows(1))
        async with connection.transaction(force_rollback=True):
            await outbox.append_async(connection, **VALID)
            assert len(await stored_async(connection)) == 1
        assert await stored_async(connection) == []


async def stored_async(connection: psycopg.AsyncConnection[Any]) -> list[UUID]:
    cursor = await connection.execute("select id from outbox.outbox order by id")
    return [row["id"] for row in await cursor.fetchall()]
