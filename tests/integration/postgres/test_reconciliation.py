"""The tables of a verification, in a real Postgres, against the same rules told plainly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.postgres.dead_letter_id import dead_letter_id
from connectors.postgres.delivery_id import delivery_id
from connectors.postgres.errors import SchemaMissingError, StatementTimeoutError
from connectors.postgres.event_facts import Fact
from connectors.postgres.log_partitions import DEAD_LETTER_TABLES, TABLES, make_days
from connectors.postgres.reconciliation import (
    ExpectedTarget,
    FoundEvent,
    HeldDelivery,
    Period,
    Reconciliation,
)
from streams.verify.judgement import REASONS, Verdict, breaking, counted_verdicts, judge
from tests.support.verified_event import BASE, KnownEvent, any_event, any_expected, naive_verdict

PERIOD = Period(since=BASE, until=BASE + timedelta(milliseconds=16))
LIMIT = timedelta(seconds=60)
TRUNCATE = "truncate outbox.outbox, outbox.deliveries, outbox.attempts, outbox.dead_letters"


@pytest.fixture(scope="module")
def database(outbox_database_url: str) -> str:
    with psycopg.connect(outbox_database_url) as connection:
        make_days(connection, {BASE.date()}, tables=(*TABLES, *DEAD_LETTER_TABLES))
    return outbox_database_url


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(any_event, max_size=25, unique_by=lambda event: event.id),
    expected=any_expected,
    rows_only=st.booleans(),
)
def test_inv_1_each_event_has_the_verdict_that_the_rules_give_it(
    database: str, *, events: list[KnownEvent], expected: list[ExpectedTarget], rows_only: bool
) -> None:
    """All of the period, and none beyond it; counted, and those that break it listed, oldest first."""
    store(database, events)
    wanted = {
        event.id: naive_verdict(event, expected)
        for event in events
        if event.at_ms < 16 and (event.has_row or not rows_only)
    }
    with psycopg.connect(database, autocommit=True) as connection:
        tables = filled(connection, events, expected, rows_only=rows_only)
        counts = tables.counts()
        assert counted_verdicts(counts) == dict.fromkeys(Verdict, 0) | Counter(wanted.values())
        listed = [*tables.events_of(breaking(counts), most=100)]
    broken = {identifier: verdict for identifier, verdict in wanted.items() if verdict in REASONS}
    assert {event.id: judge(Fact(event.facts)) for event in listed} == broken
    assert [event.created_at for event in listed] == sorted(event.created_at for event in listed)


def test_it_can_change_nothing(database: str) -> None:
    """Postgres itself refuses whatever is not a temporary table of the session."""
    with psycopg.connect(database, autocommit=True) as connection:
        Reconciliation(connection, PERIOD, statement_limit=LIMIT)
        for statement in ("delete from outbox.outbox", "truncate outbox.deliveries", "create table t ()"):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                connection.execute(statement)


def test_a_statement_that_takes_long_is_given_up(database: str) -> None:
    """The server has other work; the error says what happened."""
    with psycopg.connect(database, autocommit=True) as holder:
        store(database, [])
        with psycopg.connect(database, autocommit=True) as connection:
            tables = Reconciliation(connection, PERIOD, statement_limit=timedelta(milliseconds=200))
            with holder.transaction():
                holder.execute("lock table outbox.outbox in access exclusive mode")
                with pytest.raises(StatementTimeoutError):
                    tables.take_rows()


def test_what_moved_on_meanwhile_is_as_it_is_now(database: str) -> None:
    """A delivery that waited when it was taken, and has succeeded since, is no lost one, and no waiting one."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    store(database, [event])
    with (
        psycopg.connect(database, autocommit=True) as connection,
        psycopg.connect(database, autocommit=True) as recorder,
    ):
        recorder.execute(*a_delivery_row(event, "endpoint:ep_a", "retrying"))
        tables = filled(connection, [event], [], put_together=False)
        recorder.execute(
            "update outbox.deliveries set status = 'succeeded', last_attempt_id = gen_random_uuid()"
        )
        tables.put_together(died_since=BASE - timedelta(days=1), rows_only=False)
        assert counted_verdicts(tables.counts())[Verdict.DELIVERED] == 1
        assert tables.deliveries() == {"succeeded": 1}


@pytest.mark.parametrize(
    ("log", "kafka", "verdict"),
    [
        ("r2", "r1", Verdict.WAIT_LOST),
        ("r1", "r1", Verdict.WAITING),
        ("r1", "r2", Verdict.WAITING),
        ("", "r1", Verdict.WAITING),
    ],
)
def test_what_waits_in_an_earlier_replay_is_not_what_the_log_means(
    database: str, log: str, kafka: str, verdict: Verdict
) -> None:
    """The log speaks of the latest replay; a later one on Kafka is on its way into the log."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    store(database, [event])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(*a_delivery_row(event, "endpoint:ep_a", "retrying", replay_id=log))
        tables = filled(connection, [event], [], held=[HeldDelivery(str(event.id), "endpoint:ep_a", kafka)])
        assert counted_verdicts(tables.counts())[verdict] == 1


def test_a_letter_of_an_earlier_replay_buries_nothing(database: str) -> None:
    """It was redriven, and what waits since is lost; a letter of the same replay is its end."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    for died_in, verdict in ((None, Verdict.WAIT_LOST), ("r1", Verdict.DEAD)):
        store(database, [event])
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(*a_delivery_row(event, "endpoint:ep_a", "retrying", replay_id="r1"))
            connection.execute(*a_letter_row(event, "endpoint:ep_a", 1, replay_id=died_in))
            tables = filled(connection, [event], [])
            assert counted_verdicts(tables.counts())[verdict] == 1


def test_a_delivery_to_who_need_not_have_one_stands_for_nobody_else(database: str) -> None:
    """One target changed since, and has a delivery; the other should have one, and has none."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    expected = [
        ExpectedTarget("order.paid", "endpoint:ep_a", BASE + timedelta(milliseconds=2)),
        ExpectedTarget("order.paid", "endpoint:ep_b", BASE),
    ]
    store(database, [event])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(*a_delivery_row(event, "endpoint:ep_a", "succeeded"))
        tables = filled(connection, [event], expected)
        assert counted_verdicts(tables.counts())[Verdict.TARGET_MISSING] == 1


def test_what_a_replay_has_sent_and_nobody_has_attempted_yet_waits(database: str) -> None:
    """Its run before left no trace, of one target or of all: now it is on `outbox.redelivery`, for one of them."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    lost = replace(event, id=uuid4(), records=())
    expected = [ExpectedTarget("order.paid", target, BASE) for target in ("endpoint:ep_a", "endpoint:ep_b")]
    held = [HeldDelivery(str(one.id), "endpoint:ep_b", "r1") for one in (event, lost)]
    store(database, [event, lost])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(*a_delivery_row(event, "endpoint:ep_a", "succeeded"))
        tables = filled(connection, [event, lost], expected, held=held)
        assert counted_verdicts(tables.counts())[Verdict.WAITING] == 2


def test_what_a_replay_sends_again_is_as_the_log_says(database: str) -> None:
    """It was delivered, whatever comes of the replay."""
    event = KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(False,), unwanted=False)
    store(database, [event])
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(*a_delivery_row(event, "endpoint:ep_a", "succeeded"))
        tables = filled(connection, [event], [], held=[HeldDelivery(str(event.id), "endpoint:ep_a", "r1")])
        assert counted_verdicts(tables.counts())[Verdict.DELIVERED] == 1


def test_a_row_is_missing_until_it_is_found_or_has_left_a_trace(database: str) -> None:
    """What Kafka has deleted was there once: its delivery, or its letter, says so."""
    kinds = ("found", "delivered", "buried", "missing")
    events = [
        KnownEvent(id=uuid4(), type="order.paid", at_ms=1, has_row=True, records=(), unwanted=False)
        for _ in kinds
    ]
    store(database, events)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(*a_delivery_row(events[1], "endpoint:ep_a", "succeeded"))
        connection.execute(*a_letter_row(events[2], None, 1))
        tables = Reconciliation(connection, PERIOD, statement_limit=LIMIT)
        assert tables.missing() == 0
        before = tables.take_rows()
        assert tables.missing() == 2
        tables.add_found([found_of(events[0], in_flight=True)])
        assert tables.missing() == 1
        assert tables.confirmed("no_such_slot") is None
        assert before > 0


def test_a_log_that_is_not_there_is_told(fresh_database_url: str) -> None:
    """Before `outbox setup` there is nothing to verify."""
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        tables = Reconciliation(connection, PERIOD, statement_limit=LIMIT)
        with pytest.raises(SchemaMissingError, match="outbox setup"):
            tables.take_rows()


def store(url: str, events: Sequence[KnownEvent]) -> None:
    """The rows, the log and the letters, as they stand in Postgres."""
    with psycopg.connect(url) as connection:
        connection.execute(TRUNCATE)
        number = 0
        for event in events:
            if event.has_row:
                connection.execute(
                    "insert into outbox.outbox (id, type, aggregate_type, aggregate_id, payload, created_at)"
                    " values (%s, %s, 'order', '1', '{}', %s)",
                    (event.id, event.type, event.created_at + timedelta(microseconds=999)),
                )
            letters: list[str | None] = [None] if event.whole_letter else []
            for target, delivery in event.deliveries.items():
                connection.execute(*a_delivery_row(event, target, delivery.status))
                letters += [target] if delivery.letter else []
            for buried in letters:
                number += 1
                connection.execute(*a_letter_row(event, buried, number))


def filled(
    connection: psycopg.Connection[Any],
    events: Sequence[KnownEvent],
    expected: Sequence[ExpectedTarget],
    *,
    rows_only: bool = False,
    held: Sequence[HeldDelivery] = (),
    put_together: bool = True,
) -> Reconciliation:
    """The tables with what Kafka has, as a verification fills them."""
    tables = Reconciliation(connection, PERIOD, statement_limit=LIMIT)
    tables.take_rows()
    tables.add_found(
        found_of(event, in_flight=in_flight)
        for event in events
        if event.at_ms < 16
        for in_flight in event.records
    )
    tables.take_open(letters_since=BASE - timedelta(days=1))
    tables.add_held(held)
    for event in events:
        targets = [target for target, delivery in event.deliveries.items() if delivery.held]
        targets += [""] if event.routed_again else []
        tables.add_held(HeldDelivery(str(event.id), target, "") for target in targets)
    tables.add_expected(expected)
    if put_together:
        tables.put_together(died_since=BASE - timedelta(days=1), rows_only=rows_only)
    return tables


def found_of(event: KnownEvent, *, in_flight: bool) -> FoundEvent:
    return FoundEvent(str(event.id), event.type, event.created_at, in_flight, event.unwanted)


_DELIVERY = """
insert into outbox.deliveries (created_at, id, event_id, event_type, target, origin, status, attempts, replay_id,
    standing, attempt, deferrals, last_attempt_at, last_attempt_id)
values (%s, %s, %s, %s, %s, 'outbox.events/0/0', %s, 1, %s, %s, 1, 0, %s, %s)
"""
_LETTER = """
insert into outbox.dead_letters (died_at, id, place_partition, place_offset, class, code, event_id, target, attempts,
    died_in_replay_id)
values (%s, %s, 0, %s, 'undelivered', 'ENDPOINT_REJECTED', %s, %s, 1, %s)
"""


def a_delivery_row(event: KnownEvent, target: str, status: str, *, replay_id: str = "") -> tuple[str, Any]:
    at_ms = round(event.created_at.timestamp() * 1000)
    identifier = delivery_id(event_id=event.id, target=target, created_at_ms=at_ms)
    standing = {"succeeded": 2, "failed": 1, "cancelled": 1}.get(status, 0)
    known = (event.created_at, identifier, event.id, event.type, target)
    return _DELIVERY, (*known, status, replay_id, standing, event.created_at, uuid4())


def a_letter_row(
    event: KnownEvent, target: str | None, number: int, *, replay_id: str | None = None
) -> tuple[str, Any]:
    at_ms = round(event.created_at.timestamp() * 1000)
    identifier = dead_letter_id(died_at_ms=at_ms, partition=0, offset=number)
    return _LETTER, (event.created_at, identifier, number, event.id, target, replay_id)
