"""The delivery log's partitions: made for what comes, dropped as a whole, in nobody's way."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from secrets import token_hex
from typing import Any
from uuid import UUID

import psycopg
import pytest

from connectors.postgres.connection import connect
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import DatabaseUnreachableError
from connectors.postgres.log_partitions import (
    DEAD_LETTER_TABLES,
    TABLES,
    drop_days_before,
    make_days,
    may_make_days,
    partition_day,
    partition_name,
)
from connectors.postgres.schema import migrate
from streams.recorder.fold import fold
from tests.integration.conftest import a_database
from tests.support.attempt_records import an_entry
from tests.support.eventually import eventually

DAYS = tuple(date(2026, 11, day) for day in range(1, 6))


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    with a_database(database_url) as url:
        migrate(url)
        yield url


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(url) as connection:
        connection.autocommit = True
        yield connection


def write(url: str, *days: date) -> None:
    writer = DeliveryLogWriter(url)
    for number, day in enumerate(days):
        at_ms = int(
            datetime(day.year, day.month, day.day, 23, 59, 59, 999_000, tzinfo=UTC).timestamp() * 1000
        )
        entry = an_entry(event_id=str(UUID(int=number)), event_created_at_ms=at_ms)
        writer.write([entry.attempt], fold([entry]))
    writer.close()


def partitions(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select child.relname from pg_inherits join pg_class child on child.oid = inhrelid"
            " where inhparent in ('outbox.attempts'::regclass, 'outbox.deliveries'::regclass)"
        )
        return {name for (name,) in found}


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("select tablename from pg_tables where schemaname = 'outbox'")
        return {name for (name,) in found if partition_day(name)}


def of_days(*days: date) -> set[str]:
    return {partition_name(table, day) for day in days for table in ("attempts", "deliveries")}


def test_only_who_owns_the_tables_may_make_partitions(url: str, connection: psycopg.Connection[Any]) -> None:
    """Every right on them is not enough for another role; one that has the owner's role has its rights, too."""
    assert may_make_days(connection)
    role = f"test_{token_hex(6)}"
    connection.execute(f"create role {role}")
    try:
        connection.execute(f"grant all on schema outbox to {role}")
        connection.execute(f"grant all on all tables in schema outbox to {role}")
        with connect(url) as other:
            other.execute(f"set role {role}")
            assert not may_make_days(other)
        for table in (*TABLES, *DEAD_LETTER_TABLES):
            connection.execute(f"alter table outbox.{table} owner to {role}")
        with connect(url) as other:
            other.execute(f"set role {role}")
            assert may_make_days(other)
    finally:
        connection.execute(f"reassign owned by {role} to current_user")
        connection.execute(f"drop owned by {role}")
        connection.execute(f"drop role {role}")


def test_a_row_makes_the_partition_of_its_day(url: str) -> None:
    """Each day in UTC has one of each table, however the session's zone is set; what is there stays."""
    write(url, DAYS[0], DAYS[3], DAYS[0])
    assert partitions(url) == of_days(DAYS[0], DAYS[3])
    with psycopg.connect(url) as connection:
        for day in (DAYS[0], DAYS[3]):
            rows = connection.execute(f"select created_at from outbox.deliveries_{day:%Y%m%d}").fetchall()  # noqa: S608
            assert {moment.astimezone(UTC).date() for (moment,) in rows} == {day}


def test_old_days_are_dropped_whole_and_no_row_is_deleted(url: str, connection: Any) -> None:
    """CASES 43: partitions go, rows don't: Postgres counts no deleted row, and the younger days are untouched."""
    write(url, *DAYS)
    assert set(drop_days_before(connection, DAYS[2])) == of_days(*DAYS[:2])
    assert tables(url) == of_days(*DAYS[2:])
    assert connection.execute("select count(*) from outbox.deliveries").fetchone() == (3,)
    assert drop_days_before(connection, DAYS[2]) == ()
    connection.execute("select pg_stat_force_next_flush()")
    deleted = connection.execute(
        "select sum(n_tup_del) from pg_stat_user_tables where schemaname = 'outbox' and relname ~ '_[0-9]{8}$'"
    ).fetchone()
    assert deleted == (0,)


def test_other_tables_are_left_alone(url: str, connection: Any) -> None:
    """Only what is named as a day of the log is dropped, and nothing outside of its schema."""
    write(url, DAYS[0])
    connection.execute("create table outbox.deliveries_20261399 (id int)")
    connection.execute("create table outbox.kept_20200101 (id int)")
    connection.execute("create table public.attempts_20200101 (id int)")
    assert set(drop_days_before(connection, DAYS[1])) == of_days(DAYS[0])
    for name in ("outbox.deliveries_20261399", "outbox.kept_20200101", "public.attempts_20200101"):
        assert connection.execute("select to_regclass(%s) is not null", (name,)).fetchone() == (True,)


def test_several_make_and_drop_the_same_days_at_once(url: str) -> None:
    """Two recorders start, or have their hour, together: each day is there once, and gone once."""

    def make(_: int) -> None:
        with connect(url) as connection:
            connection.autocommit = True
            make_days(connection, DAYS)

    def drop(_: int) -> tuple[str, ...]:
        with connect(url) as connection:
            connection.autocommit = True
            return drop_days_before(connection, DAYS[-1])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(4)))
        assert partitions(url) == of_days(*DAYS)
        dropped = [name for names in pool.map(drop, range(4)) for name in names]
    assert sorted(dropped) == sorted(of_days(*DAYS[:-1]))
    assert tables(url) == of_days(DAYS[-1])


def test_a_reader_is_waited_for_and_stops_nobody(url: str, connection: Any) -> None:
    """CASES 43: while somebody reads an old day at length, writing and reading go on; the drop is finished later."""
    write(url, *DAYS)
    with psycopg.connect(url) as reader:
        assert reader.execute("select count(*) from outbox.deliveries").fetchone() == (5,)  # holds its locks
        connection.execute("set statement_timeout = '500ms'")
        with pytest.raises(psycopg.errors.QueryCanceled):
            drop_days_before(connection, DAYS[2])
        with psycopg.connect(url) as another:
            another.execute("set statement_timeout = '5s'")
            # The first day that goes is out of sight already.
            assert another.execute("select count(*) from outbox.deliveries").fetchone() == (4,)
        write(url, DAYS[4] + timedelta(days=1))
    connection.execute("set statement_timeout = '20s'")
    assert set(drop_days_before(connection, DAYS[2])) == of_days(*DAYS[:2])
    assert tables(url) == of_days(*DAYS[2:], DAYS[4] + timedelta(days=1))


def test_a_drop_that_was_killed_halfway_is_finished(url: str, connection: Any) -> None:
    """What was detached and not dropped goes with the next look; a day that is wanted again is attached again."""
    write(url, *DAYS)
    for table, day in (("attempts", DAYS[0]), ("deliveries", DAYS[3])):
        name = partition_name(table, day)
        connection.execute(f"alter table outbox.{table} detach partition outbox.{name}")
    assert set(drop_days_before(connection, DAYS[1])) == of_days(DAYS[0])
    write(url, DAYS[3])
    assert partitions(url) == of_days(*DAYS[1:])


def test_a_partition_that_somebody_dropped_is_made_again(url: str) -> None:
    """The writer knows which days it has seen; being wrong about one costs an error, not the log."""
    writer = DeliveryLogWriter(url)
    entry = an_entry()
    writer.write([entry.attempt], fold([entry]))
    day = entry.created_at.date()
    with psycopg.connect(url) as other:
        for name in of_days(day):
            other.execute(f"drop table outbox.{name}")
    with pytest.raises(Exception, match="no partition"):
        writer.write([entry.attempt], fold([entry]))
    writer.write([entry.attempt], fold([entry]))
    assert partitions(url) == of_days(day)
    writer.close()


def test_a_locked_table_is_an_outage_not_a_standstill(url: str) -> None:
    """Somebody holds the table (VACUUM FULL, a migration): the writer gives up within its limit and can try again."""
    writer = DeliveryLogWriter(url)
    writer.make_days(DAYS[:1])
    with psycopg.connect(url) as other:
        other.execute("lock table outbox.attempts in access exclusive mode")
        with psycopg.connect(url) as canceller, ThreadPoolExecutor(1) as pool:
            entry = an_entry()
            writing = pool.submit(writer.write, [entry.attempt], fold([entry]))
            cancel = "select count(pg_cancel_backend(pid)) > 0 from pg_stat_activity where wait_event_type = 'Lock'"
            eventually(lambda: canceller.execute(cancel).fetchone() == (True,), what="a writer that waits")
            with pytest.raises(DatabaseUnreachableError):
                writing.result()
    writer.write([entry.attempt], fold([entry]))
    writer.close()


def test_debezium_is_given_none_of_it(url: str) -> None:
    """The publication has the outbox alone, partitions of the log included or not."""
    write(url, *DAYS)
    with psycopg.connect(url) as connection:
        published = connection.execute("select tablename from pg_publication_tables where pubname = 'outbox'")
        assert published.fetchall() == [("outbox",)]
