"""Endpoints' health in a real Postgres: joined in any order, by several at once, and gone with its endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import sql

from connectors.postgres.audit import KEPT_FOR, AuditLog
from connectors.postgres.connection import connect
from connectors.postgres.endpoint_health import EndpointHealth, EndpointTurn
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoint_health_writer import keep_health
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.failing_minutes import FailingMinutes
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from outbox import EventFilter

BEGIN = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def url(outbox_database_url: str) -> Iterator[str]:
    yield outbox_database_url
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.endpoints, outbox.endpoint_health, outbox.audit, outbox.outbox")


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(url) as connection:
        connection.autocommit = True
        yield connection


@pytest.fixture
def store(connection: psycopg.Connection[Any]) -> EndpointStore:
    return EndpointStore(connection)


def an_endpoint(endpoint_id: str, **changes: Any) -> Endpoint:
    fields: dict[str, Any] = {
        "id": endpoint_id,
        "url": "https://receiver.example/in",
        "event_types": (EventFilter("*"),),
        "secrets": (Secret.generate(),),
        "created_at": BEGIN,
    }
    return Endpoint(**{**fields, **changes})


def a_turn(
    endpoint_id: str, minutes: float, error: str | None = "answered 503", number: int = 1
) -> EndpointTurn:
    return EndpointTurn(
        endpoint_id=endpoint_id,
        at=BEGIN + timedelta(minutes=minutes),
        attempt_id=f"00000000-0000-4000-8000-{number:012x}",
        error=error,
        http_status=None if error is None else 503,
        gone=False,
    )


def keep(connection: psycopg.Connection[Any], *turns: EndpointTurn) -> dict[str, EndpointHealth]:
    with connection.transaction():
        return {one.health.endpoint_id: one.health for one in keep_health(connection, turns)}


def shown(connection: psycopg.Connection[Any], endpoint_id: str = "ep_1") -> EndpointHealth | None:
    return EndpointHealthTable(connection).of([endpoint_id]).get(endpoint_id)


def held(connection: psycopg.Connection[Any], endpoint_id: str = "ep_1") -> EndpointHealth:
    with connection.transaction():
        found = EndpointHealthTable(connection).held(endpoint_id)
    assert found is not None
    return found.health


def many_turns(count: int, *, endpoints: int, seed: int) -> list[EndpointTurn]:
    chance = Random(seed)
    return [
        a_turn(
            f"ep_{chance.randrange(endpoints)}",
            chance.uniform(-5, 9_000),
            None if chance.random() < 0.3 else f"answered {chance.randrange(500, 600)}",
            number,
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_is_stored_is_what_the_fold_says(
    store: EndpointStore, connection: psycopg.Connection[Any], seed: int
) -> None:
    """In any order, in any batches, some of them twice: the rows are those of one look at all records."""
    for number in range(5):
        store.add(an_endpoint(f"ep_{number}"))
    turns = many_turns(300, endpoints=5, seed=seed)
    chance = Random(seed)
    again = [*turns, *chance.sample(turns, 100)]
    chance.shuffle(again)
    while again:
        size = chance.randint(1, 60)
        keep(connection, *again[:size])
        del again[:size]
    for number in range(5):
        endpoint_id = f"ep_{number}"
        whole = EndpointHealth(endpoint_id=endpoint_id, counted_from=BEGIN).after(
            [turn for turn in turns if turn.endpoint_id == endpoint_id]
        )
        stored = held(connection, endpoint_id)
        assert stored == whole
        without_minutes = replace(stored.signs, failing=FailingMinutes())
        assert shown(connection, endpoint_id) == replace(stored, signs=without_minutes)


def test_several_recorders_neither_wait_in_a_circle_nor_lose_anything(
    store: EndpointStore, connection: psycopg.Connection[Any], url: str
) -> None:
    """Overlapping batches of the same endpoints, first rows included, while endpoints are moved and removed."""
    for number in range(40):
        store.add(an_endpoint(f"ep_{number}"))
    turns = many_turns(4_000, endpoints=40, seed=9)

    def record(seed: int) -> None:
        mine = [*turns]
        Random(seed).shuffle(mine)
        with connect(url) as own:
            own.autocommit = True
            for begin in range(0, len(mine), 100):
                keep(own, *mine[begin : begin + 100])

    def change() -> None:
        with connect(url) as own:
            own.autocommit = True
            changing = EndpointStore(own)
            for number in range(200):
                name = f"ep_{number % 10 + 30}"
                if number % 10 == 9:
                    changing.remove(name)
                    changing.add(an_endpoint(name))
                else:
                    moved = f"https://receiver.example/{number}"
                    changing.update(name, lambda before, moved=moved: replace(before, url=moved))  # type: ignore[misc]

    with ThreadPoolExecutor(4) as pool:
        for future in [*(pool.submit(record, seed) for seed in (1, 2, 3)), pool.submit(change)]:
            future.result(120)
    for number in range(30):
        endpoint_id = f"ep_{number}"
        assert held(connection, endpoint_id) == EndpointHealth(
            endpoint_id=endpoint_id, counted_from=BEGIN
        ).after([turn for turn in turns if turn.endpoint_id == endpoint_id])


def test_a_batch_without_a_failure_ends_a_failing(
    store: EndpointStore, connection: psycopg.Connection[Any]
) -> None:
    """Most rows are joined by Postgres alone; one that is failing is not among them."""
    store.add(an_endpoint("ep_1"))
    keep(connection, a_turn("ep_1", 1), a_turn("ep_1", 5))
    assert keep(connection, a_turn("ep_1", 3, None))["ep_1"].failing_since == BEGIN + timedelta(minutes=5)
    assert keep(connection, a_turn("ep_1", 6, None))["ep_1"].state == "ok"
    assert keep(connection, a_turn("ep_1", 9, None), a_turn("ep_1", -1, None)) == {}
    assert held(connection).signs.last_success_at == BEGIN + timedelta(minutes=9)


def test_late_records_bring_no_removed_endpoint_back(
    store: EndpointStore, connection: psycopg.Connection[Any]
) -> None:
    """Its health goes with it, and a new one of its id begins with nothing."""
    store.add(an_endpoint("ep_1"))
    assert keep(connection, a_turn("ep_1", 1))["ep_1"].state == "failing"
    store.remove("ep_1")
    assert connection.execute("select count(*) from outbox.endpoint_health").fetchone() == (0,)
    assert keep(connection, a_turn("ep_1", 2), a_turn("ep_other", 2)) == {}
    assert shown(connection) is None
    store.add(an_endpoint("ep_1", created_at=BEGIN + timedelta(minutes=10)))
    assert keep(connection, a_turn("ep_1", 3))["ep_1"].state == "idle"
    assert keep(connection, a_turn("ep_1", 11))["ep_1"].state == "failing"


def test_whoever_adds_or_removes_an_endpoint_its_health_is_there_or_gone(
    store: EndpointStore, connection: psycopg.Connection[Any]
) -> None:
    """Programs of the version before know of no health: what they leave out is made up for, once an hour."""
    store.add(an_endpoint("ep_1"))
    keep(connection, a_turn("ep_1", 1))
    store.add(an_endpoint("ep_2"))
    connection.execute("delete from outbox.endpoints where id = 'ep_2'")
    connection.execute(
        "insert into outbox.endpoints (id, url, event_types, secrets, created_at) values "
        "('ep_3', 'https://receiver.example/in', '{*}', '{whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}', %s)",
        (BEGIN,),
    )
    assert shown(connection, "ep_2") is None  # although its row is there
    assert keep(connection, a_turn("ep_3", 1)) == {}
    EndpointHealthTable(connection).tidy()
    rows = connection.execute("select endpoint_id from outbox.endpoint_health order by 1").fetchall()
    assert rows == [("ep_1",), ("ep_3",)]
    assert held(connection).state == "failing"
    assert keep(connection, a_turn("ep_3", 1))["ep_3"].state == "failing"


@pytest.mark.parametrize(
    ("change", "anew"),
    [
        ({"enabled": True}, True),
        ({"url": "https://elsewhere.example/in", "enabled": True}, True),
        ({"description": "x"}, False),
        ({"url": "https://elsewhere.example/in"}, False),
    ],
)
def test_who_is_enabled_begins_anew(
    store: EndpointStore, connection: psycopg.Connection[Any], change: dict[str, Any], *, anew: bool
) -> None:
    """Why it was disabled, since when it fails, what was told: all forgotten, and what is still read of before, too."""
    store.add(an_endpoint("ep_1"))
    keep(connection, a_turn("ep_1", 1))
    table = EndpointHealthTable(connection)
    table.note_warning("ep_1", warnings=2, at=BEGIN)
    table.note_disabled("ep_1", reason="failing", at=BEGIN)
    store.update("ep_1", lambda before: replace(before, enabled=False))
    store.update("ep_1", lambda before: replace(before, **change))
    health = keep(connection, a_turn("ep_1", 2))["ep_1"]
    keep(connection, a_turn("ep_1", 3, None))
    if anew:
        assert held(connection).signs.last_success_at is None
        assert (health.state, health.warnings, health.disabled_reason, health.failing_since) == (
            "idle",
            0,
            None,
            None,
        )
        assert health.signs.last_failure is not None  # what was, was
    else:
        assert (health.state, health.warnings, health.disabled_reason) == ("failing", 2, "failing")


def test_an_endpoint_that_was_moved_begins_anew(
    store: EndpointStore, connection: psycopg.Connection[Any]
) -> None:
    """Another URL is another receiver: what the old one did is not held against it."""
    store.add(an_endpoint("ep_1"))
    keep(connection, a_turn("ep_1", 1))
    store.update("ep_1", lambda before: replace(before, description="x"))
    assert held(connection).state == "failing"
    store.update("ep_1", lambda before: replace(before, url="https://elsewhere.example/in"))
    assert held(connection).state == "idle"
    # What is read later of before counts for nothing.
    store.add(an_endpoint("ep_2"))
    store.update("ep_2", lambda before: replace(before, url="https://elsewhere.example/in"))
    assert keep(connection, a_turn("ep_2", 1))["ep_2"].state == "idle"


def test_who_changes_an_endpoint_waits_for_no_batch_that_reads_of_it(url: str, store: EndpointStore) -> None:
    """A batch takes no lock of an endpoint's row: only one that has written its health is waited for."""
    store.add(an_endpoint("ep_1"))
    with connect(url) as batch, connect(url) as other:
        other.execute("set lock_timeout = '5s'")
        with other.transaction():
            EndpointStore(other).update("ep_1", lambda before: replace(before, description="x"))
            batch.execute("set lock_timeout = '1s'")
            with batch.transaction():
                [seen] = keep_health(batch, [a_turn("ep_1", 1)])
    assert seen.health.state == "failing"


def test_the_audit_is_pruned(store: EndpointStore, connection: psycopg.Connection[Any]) -> None:
    """What is older than a year and a month goes, the rest stays."""
    store.add(an_endpoint("ep_1"))
    for days in (1, -1):
        store.update("ep_1", lambda before, days=days: replace(before, description=str(days)))  # type: ignore[misc]
    connection.execute(
        "update outbox.audit set at = now() - %s - interval '1 hour' where action = 'endpoint.added'",
        (KEPT_FOR,),
    )
    assert AuditLog(connection).prune() == 1
    assert AuditLog(connection).prune() == 0
    assert [entry.action for entry in AuditLog(connection).page(limit=9)] == ["endpoint.changed"] * 2


def test_pruning_looks_at_no_more_than_it_must(connection: psycopg.Connection[Any]) -> None:
    """The oldest entries alone, found by the key: the table may be large, and is looked at every hour."""
    from connectors.postgres.audit import _PRUNE  # noqa: PLC0415 - its plan is what is tested

    connection.execute(
        "insert into outbox.audit (actor, action) select 'a', 'b' from generate_series(1, 50000)"
    )
    connection.execute("analyze outbox.audit")
    explained = sql.SQL("explain (format text) {}").format(sql.SQL(_PRUNE))
    plan = "\n".join(
        line for (line,) in connection.execute(explained, {"most": 10_000, "kept_for": KEPT_FOR})
    )
    assert "Index Scan using audit_pkey" in plan
    assert "Limit" in plan
