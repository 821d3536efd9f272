"""The judge on a real Postgres, with the clock passed in: each thing done and told once, and no recording stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from structlog.testing import capture_logs

from connectors.postgres.audit import AuditLog
from connectors.postgres.connection import connect
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.secret import Secret
from outbox import EventFilter
from streams.recorder.batch import Place, Read
from streams.recorder.entry import Entry
from streams.recorder.judge import Judge
from streams.recorder.keeper import Keeper
from streams.recorder.retention import Retention
from tests.support.attempt_records import an_entry
from tests.support.keepers import a_keeper

HOUR = timedelta(hours=1)
PERIOD = 120 * HOUR
URL_MARK = "https://receiver.example/in?token=url-mark-3ec1"


class Clock:
    """The time of day, and the steady one: both are what a test says."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def monotonic_s(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(outbox_database_url: str) -> Iterator[str]:
    yield outbox_database_url
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            "truncate outbox.endpoints, outbox.endpoint_health, outbox.audit, outbox.outbox, outbox.deliveries, "
            "outbox.attempts"
        )


@pytest.fixture
def keeper(url: str, clock: Clock) -> Iterator[Keeper[Entry]]:
    with closing(new_keeper(url, clock)) as keeper:
        yield keeper


def new_keeper(url: str, clock: Clock, **changes: Any) -> Keeper[Entry]:
    return a_keeper(
        url,
        retention=Retention(3_000),
        now=clock,
        monotonic_s=clock.monotonic_s,
        **{"period": PERIOD, **changes},
    )


def add(url: str, clock: Clock, endpoint_id: str = "ep_1", *, keys: KeyRing | None = None) -> Endpoint:
    endpoint = Endpoint(
        id=endpoint_id,
        url=URL_MARK,
        event_types=(EventFilter("*"),),
        secrets=(Secret.generate(),),
        created_at=clock.now - HOUR,
    )
    with connect(url) as connection:
        EndpointStore(connection, keys=keys or KeyRing([])).add(endpoint)
        # Postgres' own clock is years ahead of the one that is passed in.
        connection.execute(
            "update outbox.endpoints set updated_at = created_at where id = %s", (endpoint_id,)
        )
    return endpoint


def an_attempt(clock: Clock, ending: str, endpoint_id: str) -> Entry:
    """One that begins now, of an event of now."""
    at_ms = int(clock.now.timestamp() * 1000)
    return an_entry(
        ending,
        target=f"endpoint:{endpoint_id}",
        event_id=str(uuid4()),
        attempt_id=str(uuid4()),
        event_created_at_ms=at_ms,
        started_at_ms=at_ms,
    )


def record(keeper: Keeper[Entry], clock: Clock, ending: str = "retried", endpoint_id: str = "ep_1") -> None:
    """An attempt that is recorded at once."""
    keeper.keep([Read(Place(0, 1), an_attempt(clock, ending, endpoint_id))])


def fails(keeper: Keeper[Entry], clock: Clock, hours: int, endpoint_id: str = "ep_1") -> None:
    for _ in range(hours):
        clock.now += HOUR
        record(keeper, clock, endpoint_id=endpoint_id)


def events(url: str) -> list[dict[str, Any]]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select type, aggregate_type, aggregate_id, payload, channel, content_type from outbox.outbox order by id"
        ).fetchall()
    assert all(row[1] == "endpoint" and row[4:] == ("events", "application/json") for row in found)
    told = [{"type": row[0], **json.loads(row[3])} for row in found]
    assert [one["endpoint_id"] for one in told] == [row[2] for row in found]
    assert "url-mark" not in str(found)
    assert "whsec" not in str(found)
    return told


def stored(url: str, endpoint_id: str = "ep_1") -> Endpoint:
    with connect(url) as connection:
        return EndpointStore(connection).get(endpoint_id)


def audited(url: str) -> list[tuple[str, str, tuple[str, ...]]]:
    with connect(url) as connection:
        return [(one.actor, one.action, one.fields) for one in AuditLog(connection).page(limit=50)][::-1]


def test_five_days_of_nothing_but_failures_end_with_the_endpoint_disabled(
    keeper: Keeper[Entry], url: str, clock: Clock
) -> None:
    """Three warnings, then disabled: each an event, once; the change is audited, and after it nothing more is said."""
    begin = clock.now + HOUR
    add(url, clock)
    fails(keeper, clock, 119)
    assert stored(url).enabled
    assert [one["type"] for one in events(url)] == ["endpoint.failing"] * 3
    fails(keeper, clock, 30)
    assert not stored(url).enabled
    *warnings, last = events(url)
    assert [one["type"] for one in [*warnings, last]] == ["endpoint.failing"] * 3 + ["endpoint.disabled"]
    assert {datetime.fromisoformat(one["disables_at"]) for one in warnings} == {begin + PERIOD}
    assert {datetime.fromisoformat(one["failing_since"]) for one in [*warnings, last]} == {begin}
    assert last == {
        "type": "endpoint.disabled",
        "endpoint_id": "ep_1",
        "reason": "failing",
        "disabled_at": "2026-03-06T01:00:00Z",
        "failing_since": "2026-03-01T01:00:00Z",
        "failing_minutes": 121,
        "last_success_at": None,
        "last_failure_at": "2026-03-06T01:00:00Z",
        "last_error": "answered 503 Service Unavailable",
        "last_status": 503,
    }
    assert audited(url) == [
        ("program", "endpoint.added", ()),
        ("recorder", "endpoint.disabled", ("enabled",)),
    ]


def test_gone_is_disabled_at_once(keeper: Keeper[Entry], url: str, clock: Clock) -> None:
    """By one 410; and the setting for failures has no say in it."""
    add(url, clock)
    with closing(new_keeper(url, clock, period=None)) as other:
        record(other, clock, "rejected")
    assert not stored(url).enabled
    assert [(one["type"], one["reason"], one["last_status"]) for one in events(url)] == [
        ("endpoint.disabled", "gone", 410)
    ]
    record(keeper, clock, "rejected")
    assert len(events(url)) == 1


def test_gone_says_nothing_of_an_endpoint_that_was_changed_since(
    keeper: Keeper[Entry], url: str, clock: Clock
) -> None:
    """Its attempt began before: the answer is that of the endpoint as it was."""
    add(url, clock)
    with connect(url) as connection:
        EndpointStore(connection).update("ep_1", lambda before: replace(before, description="x"))
    record(keeper, clock, "rejected")  # in 2026-03; the change is of today
    assert stored(url).enabled
    assert events(url) == []


def test_what_one_recorder_left_another_does(url: str, clock: Clock) -> None:
    """Killed between its batch and the judging: nobody asks that endpoint again, so no record would remind of it."""
    add(url, clock)

    class Dies(Judge):
        def consider(self, _seen: Any) -> None:
            raise KeyboardInterrupt

    judge = Dies(url, period=PERIOD, now=clock, monotonic_s=clock.monotonic_s)
    with closing(new_keeper(url, clock, judge=judge)) as first, pytest.raises(KeyboardInterrupt):
        record(first, clock, "rejected")
    assert stored(url).enabled
    clock.now += 20 * HOUR
    with closing(new_keeper(url, clock)) as second:
        second.tend()
        second.tend()
    assert not stored(url).enabled
    assert len(events(url)) == 1


@pytest.mark.parametrize("table", ["outbox.outbox", "outbox.endpoint_health", "outbox.audit"])
def test_a_failure_to_judge_stops_no_recording_and_is_made_good(
    keeper: Keeper[Entry], url: str, clock: Clock, table: str
) -> None:
    """Whichever step fails, none of it is done, the batch is written, and within a minute it is tried again."""
    add(url, clock)
    fails(keeper, clock, 24)
    with psycopg.connect(url) as connection:
        connection.execute(
            "create or replace function refuse() returns trigger language plpgsql as "
            "$$ begin raise exception 'refused' using errcode = 'check_violation'; end $$"
        )
        guard = "when (new.warned_at is not null or new.disabled_at is not null)" if "health" in table else ""
        connection.execute(
            f"create trigger refuses before insert or update on {table} for each row {guard} execute function refuse()"
        )
    try:
        with capture_logs() as lines:
            clock.now += HOUR
            record(keeper, clock, "rejected")
    finally:
        with psycopg.connect(url) as connection:
            connection.execute(f"drop trigger refuses on {table}")
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["endpoints_not_judged"]
    assert keeper.counts["kept"] == 25
    assert stored(url).enabled
    assert events(url) == []
    clock.now += timedelta(minutes=1)
    keeper.tend()
    assert not stored(url).enabled
    assert [one["type"] for one in events(url)] == ["endpoint.disabled"]


def test_an_endpoint_that_somebody_holds_is_judged_later(
    keeper: Keeper[Entry], url: str, clock: Clock
) -> None:
    """Its batch is written, and what else is to be judged is judged; with many held, the rest waits as well."""
    ids = [f"ep_{number}" for number in range(6)]
    for endpoint_id in ids:
        add(url, clock, endpoint_id)
    with connect(url) as other, other.transaction():
        other.execute("select from outbox.endpoints where id in ('ep_0', 'ep_1') for update")
        with capture_logs() as lines:
            keeper.keep(
                [Read(Place(0, 1), an_attempt(clock, "rejected", endpoint_id)) for endpoint_id in ids[:3]]
            )
        told = [line["endpoint"] for line in lines if line["event"] == "endpoint_held"]
        assert sorted(told) == ["ep_0", "ep_1"]
        assert keeper.counts["kept"] == 3
        assert [stored(url, endpoint_id).enabled for endpoint_id in ids[:3]] == [True, True, False]
        other.execute("select from outbox.endpoints for update")
        with capture_logs() as lines:
            keeper.keep(
                [Read(Place(0, 2), an_attempt(clock, "rejected", endpoint_id)) for endpoint_id in ids]
            )
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == [
            *["endpoint_held"] * 3,
            "endpoints_not_judged",
        ]
    clock.now += timedelta(minutes=1)
    keeper.tend()
    assert not any(stored(url, endpoint_id).enabled for endpoint_id in ids)


def test_several_judges_say_it_once(url: str, clock: Clock) -> None:
    """Recorders overlap, and each looks once a minute: the rows are locked, and the decision is made again."""
    for number in range(10):
        add(url, clock, f"ep_{number}")
    with closing(new_keeper(url, clock)) as keeper:
        clock.now += HOUR
        for number in range(10):
            record(keeper, clock, endpoint_id=f"ep_{number}")
        clock.now += 30 * HOUR
    nobody = Judge("postgresql://127.0.0.1:9/none", period=None, now=clock, monotonic_s=clock.monotonic_s)
    with closing(new_keeper(url, clock, judge=nobody)) as keeper:
        for number in range(10):
            record(keeper, clock, "rejected" if number % 2 else "retried", f"ep_{number}")
    judges = [Judge(url, period=PERIOD, now=clock, monotonic_s=clock.monotonic_s) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool, capture_logs() as lines:
        for future in [pool.submit(judge.tend) for judge in judges]:
            future.result(30)
    for judge in judges:
        judge.close()
    assert not [line for line in lines if line["event"] == "endpoints_not_judged"]
    told = events(url)
    assert sorted(one["endpoint_id"] for one in told) == [f"ep_{number}" for number in range(10)]
    assert {(one["endpoint_id"][-1] in "13579", one["type"]) for one in told} == {
        (True, "endpoint.disabled"),
        (False, "endpoint.failing"),
    }


def test_enabling_begins_it_anew(keeper: Keeper[Entry], url: str, clock: Clock) -> None:
    """It is not disabled again at once, neither by what is known nor by late records; another 410 disables it again."""
    add(url, clock)
    record(keeper, clock, "rejected")
    with connect(url) as connection:
        EndpointStore(connection).update("ep_1", lambda before: replace(before, enabled=True))
        health = EndpointStore(connection).health.of(["ep_1"])["ep_1"]
    assert (health.disabled_reason, health.failing_since, health.state) == (None, None, "idle")
    record(keeper, clock, "rejected")  # in flight when it was disabled, say: it began before
    keeper.tend()
    assert stored(url).enabled
    clock.now = datetime.now(UTC) + timedelta(seconds=1)
    record(keeper, clock, "rejected")
    assert not stored(url).enabled
    assert [one["reason"] for one in events(url)] == ["gone", "gone"]


def test_late_records_of_a_removed_endpoint_do_nothing(keeper: Keeper[Entry], url: str, clock: Clock) -> None:
    """Nothing is said of it, and nothing breaks."""
    add(url, clock)
    with connect(url) as connection:
        EndpointStore(connection).remove("ep_1")
    with capture_logs() as lines:
        record(keeper, clock, "rejected")
        keeper.tend()
    assert events(url) == []
    assert not [line for line in lines if line["event"].startswith("endpoint")]


def test_the_recorder_needs_no_keys(keeper: Keeper[Entry], url: str, clock: Clock) -> None:
    """What is sealed stays sealed as it was, in the table and for the workers."""
    keys = KeyRing([EncryptionKey("k1", b"1" * 32)])
    secret = add(url, clock, keys=keys).secrets[0]

    def sealed() -> Any:
        with psycopg.connect(url) as connection:
            return connection.execute("select secrets from outbox.endpoints").fetchall()

    before = sealed()
    record(keeper, clock, "rejected")
    assert not stored(url).enabled
    assert sealed() == before
    with connect(url) as connection:
        assert EndpointStore(connection, keys=keys).get("ep_1").secrets == (secret,)


def test_an_endpoint_that_is_stored_in_a_refused_form_is_told_once(
    keeper: Keeper[Entry], url: str, clock: Clock
) -> None:
    """It can't be changed by the rules; workers know it no newer, and hold back after its 410 by themselves."""
    add(url, clock)
    add(url, clock, "ep_2")
    with psycopg.connect(url) as connection:
        connection.execute("update outbox.endpoints set url = 'gopher://x' where id = 'ep_1'")
    with capture_logs() as lines:
        record(keeper, clock, "rejected")
        record(keeper, clock, "rejected")
        record(keeper, clock, "rejected", "ep_2")
    assert [line["endpoint"] for line in lines if line["event"] == "endpoint_not_disabled"] == ["ep_1"]
    assert not stored(url, "ep_2").enabled
