"""The recorder's side towards Postgres, without Kafka: a row that Postgres refuses costs that row and no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
import structlog

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import SchemaMissingError, StatementFailedError
from connectors.postgres.log_partitions import partition_name
from streams import topics
from streams.recorder.attempt_log import AttemptLog
from streams.recorder.batch import Place, Read
from streams.recorder.entry import Entry
from streams.recorder.keeper import Keeper
from streams.recorder.retention import Retention
from tests.support.attempt_records import an_entry

HOUR_S = 3_600.0


class Hours:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def hours() -> Hours:
    return Hours()


@pytest.fixture
def keeper(outbox_database_url: str, hours: Hours) -> Iterator[Keeper[Entry]]:
    keeper = Keeper(
        AttemptLog(DeliveryLogWriter(outbox_database_url)),
        topic=topics.ATTEMPTS,
        retention=Retention(3_000),
        monotonic_s=hours,
    )
    yield keeper
    keeper.close()
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.deliveries, outbox.attempts")


def reads(count: int) -> list[Read[Entry]]:
    return [
        Read(
            Place(2, 100 + number),
            an_entry(
                "retried",
                event_id=str(UUID(int=number)),
                attempt_id=str(UUID(int=number)),
                error=f"no {number}",
            ),
        )
        for number in range(count)
    ]


def stored(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {error for (error,) in connection.execute("select error from outbox.attempts")}


def test_a_row_that_postgres_refuses_is_told_and_the_rest_is_kept(
    keeper: Keeper[Entry], outbox_database_url: str
) -> None:
    """CASES 41: found by halves, whatever the reason; it never holds up what comes after it."""
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            "alter table outbox.attempts add constraint test_refuses check (error not in ('no 7', 'no 30'))"
        )
    try:
        with structlog.testing.capture_logs() as lines:
            keeper.keep(reads(33))
    finally:
        with psycopg.connect(outbox_database_url) as connection:
            connection.execute("alter table outbox.attempts drop constraint test_refuses")
    assert stored(outbox_database_url) == {f"no {number}" for number in range(33)} - {"no 7", "no 30"}
    assert keeper.counts == {"kept": 31, "refused": 2}
    told = [line for line in lines if line["event"] == "records_skipped"]
    assert [line["places"] for line in told] == ["2/107", "2/130"]
    assert not any("no 7" in str(line) for line in told)


def test_a_refusal_that_is_not_the_rows_skips_nothing(
    keeper: Keeper[Entry], outbox_database_url: str
) -> None:
    """Tables of an older version, say: the batch is tried again until somebody puts that right."""
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("alter table outbox.attempts rename column excerpt to renamed")
    try:
        with pytest.raises(SchemaMissingError):
            keeper.keep(reads(5))
    finally:
        with psycopg.connect(outbox_database_url) as connection:
            connection.execute("alter table outbox.attempts rename column renamed to excerpt")
    assert keeper.counts == {}
    keeper.keep(reads(5))
    assert len(stored(outbox_database_url)) == 5


def test_a_partition_that_somebody_dropped_is_made_again_and_skips_nothing(
    keeper: Keeper[Entry], outbox_database_url: str
) -> None:
    """Postgres says it like a check that a row fails; it is none. Tried again, the whole batch is there."""
    keeper.keep(reads(5))
    day = an_entry().attempt.created_at.date()
    with closing(DeliveryLogWriter(outbox_database_url)) as other:
        other.drop_days_before(day + timedelta(days=1))
    with pytest.raises(StatementFailedError, match="no partition"):
        keeper.keep(reads(5))
    keeper.keep(reads(5))
    assert keeper.counts == {"kept": 10}
    assert len(stored(outbox_database_url)) == 5


def test_partitions_are_tended_once_an_hour(
    keeper: Keeper[Entry], hours: Hours, outbox_database_url: str
) -> None:
    """At the start, and not again before an hour has passed; a day that is gone then comes back."""

    def partitions() -> int:
        with psycopg.connect(outbox_database_url) as connection:
            found = connection.execute(
                "select count(*) from pg_inherits where inhparent = 'outbox.deliveries'::regclass"
            )
            return int(found.fetchone()[0])  # type: ignore[index]

    def drop_one() -> None:
        with closing(DeliveryLogWriter(outbox_database_url)) as another:
            day = another.today() + timedelta(days=2)
        with psycopg.connect(outbox_database_url) as connection:
            connection.execute(f"drop table outbox.{partition_name('deliveries', day)}")

    keeper.tend()
    there = partitions()
    assert there >= 3
    drop_one()
    hours.now_s = HOUR_S - 1
    keeper.tend()
    assert partitions() == there - 1
    hours.now_s = HOUR_S + 1
    keeper.close()  # as after an error: what it knew of the days is forgotten
    keeper.tend()
    assert partitions() == there
