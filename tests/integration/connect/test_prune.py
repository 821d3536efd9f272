"""`outbox prune` beside Debezium: what is not in Kafka stays, and no event is lost or sent twice by a deletion."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import connector_config
from streams.cli.prune import prune
from streams.settings import Settings
from tests.integration.connect.conftest import set_up
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.old_rows import HOUR, append_rows, kept_keys
from tests.support.topics import TopicTail

Database = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def beating(ready: Settings, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The command's environment, an empty table, and a heartbeat often enough for a test."""
    monkeypatch.setenv("OUTBOX_DATABASE_URL", ready.database_url.get_secret_value())
    database.execute("truncate outbox.outbox, outbox.capture_gaps")
    config = connector_config(ready.database_url.get_secret_value(), poll_interval_ms=5)
    ask(ready, lambda connect: connect.put_config("outbox", {**config, "heartbeat.interval.ms": "300"}))
    yield
    database.execute("truncate outbox.outbox, outbox.capture_gaps")


def ask(settings: Settings, do: Callable[[ConnectClient], Awaitable[object]]) -> None:
    async def asked() -> None:
        async with ConnectClient(settings.connect_url) as connect:
            await do(connect)

    asyncio.run(asked())


def run_prune(*arguments: str) -> Result:
    app = Typer()
    app.command()(prune)
    return CliRunner().invoke(app, [*arguments])


def pruned(*arguments: str, exit_code: int = 0) -> dict[str, Any]:
    result = run_prune("--json", *arguments)
    assert result.exit_code == exit_code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def keys(events: TopicTail, last: bytes) -> Counter[bytes | None]:
    records = events.wait_until(lambda records: any(r.key == last for r in records), what=repr(last))
    return Counter(record.key for record in records)


def slot_is_active(database: Database) -> bool:
    found = database.execute("select active from pg_replication_slots where slot_name = 'outbox'").fetchone()
    return found == (True,)


@contextmanager
def stopped_connector(settings: Settings, database: Database) -> Iterator[None]:
    """Nobody reads from the slot within."""
    ask(settings, lambda connect: connect.stop("outbox"))
    eventually(lambda: not slot_is_active(database), what="the slot to be left")
    try:
        yield
    finally:
        ask(settings, lambda connect: connect.resume("outbox"))


def test_nothing_is_deleted_that_debezium_has_not_brought_to_kafka(
    ready: Settings, database: Database, events: TopicTail
) -> None:
    """While the connector is stopped all rows stay; once it is back, all are delivered, and may go."""
    with stopped_connector(ready, database):
        append_rows(database, 50, key="old", age=2 * HOUR)
        refused = pruned("--older-than", "1h", "--wait", "1s", exit_code=1)
        assert (refused["deleted"], refused["kept"]["unconfirmed"]) == (0, 50)
        assert refused["slot"]["active"] is False
        assert refused["slot"]["unconfirmed_bytes"] > 0
        said = run_prune("--older-than", "1h", "--wait", "1s")
        assert "50 rows kept: not confirmed by the slot" in said.stdout
        assert "nobody reads from it" in said.stderr.casefold()
        assert kept_keys(database) == {"old": 50}
    append_rows(database, 1, key="last", age=HOUR / 2)
    assert keys(events, b"last") == {b"old": 50, b"last": 1}

    would = pruned("--older-than", "1h", "--dry-run")
    assert (would["dry_run"], would["confirmed"], would["deleted"]) == (True, True, 50)
    assert kept_keys(database) == {"old": 50, "last": 1}
    assert pruned("--older-than", "1h")["deleted"] == 50
    assert kept_keys(database) == {"last": 1}
    append_rows(database, 1, key="after", age=HOUR / 2)
    assert keys(events, b"after") == {b"old": 50, b"last": 1, b"after": 1}


def test_under_load_no_event_is_lost_or_repeated(ready: Settings, events: TopicTail) -> None:
    """An application appends while prunes run one after the other, two at a time: each row is one record."""
    url = ready.database_url.get_secret_value()
    enough = threading.Event()
    appended = Counter[bytes | None]()

    def append_on() -> None:
        with psycopg.connect(url, autocommit=True) as application:
            number = 0
            while not enough.is_set() or number < 200:
                append_rows(application, 2, key=f"k{number}", age=2 * HOUR)
                appended[f"k{number}".encode()] += 2
                number += 1
            append_rows(application, 1, key="last", age=HOUR / 2)
            appended[b"last"] += 1

    application = threading.Thread(target=append_on)
    application.start()
    try:
        deleted = 0
        while deleted < 200:
            with ThreadPoolExecutor() as pool:
                both = pool.map(pruned_by_command, [ready, ready])
                deleted += sum(found["deleted"] for found in both)
    finally:
        enough.set()
        application.join()
    assert keys(events, b"last") == appended
    eventually(lambda: pruned_by_command(ready)["deleted"] == 0, what="nothing to be left")
    with psycopg.connect(url) as database:
        assert kept_keys(database) == {"last": 1}


def pruned_by_command(settings: Settings) -> dict[str, Any]:
    """By processes of their own: CliRunner swaps the streams of the whole process."""
    done = subprocess.run(
        [sys.executable, "-m", "streams.cli", "prune", "--json", "--older-than", "1h"],
        env={**os.environ, "OUTBOX_DATABASE_URL": settings.database_url.get_secret_value()},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_prune_that_is_killed_in_the_middle_does_no_harm(
    ready: Settings, database: Database, tmp_path: Path
) -> None:
    """What was deleted is deleted, the rest is whole, appends go on meanwhile, and the next run goes on."""
    append_rows(database, 5_000, key="old", age=2 * HOUR)
    append_rows(database, 1, key="stop here", age=2 * HOUR)
    append_rows(database, 5_000, key="older", age=3 * HOUR)
    url = ready.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as holder, stop_at(database, "stop here"):
        holder.execute("select pg_advisory_lock(24)")
        child = Child(
            "prune",
            "--older-than",
            "1h",
            environment={"OUTBOX_DATABASE_URL": url},
            log=tmp_path / "prune.log",
        )
        with child:
            eventually(lambda: somebody_waits(database), what="the prune to come to the row")
            append_rows(database, 1, key="meanwhile", age=HOUR / 2)
            child.kill()
        # Postgres finds out when it wants to answer: the statement ends, and is taken back.
        holder.execute("select pg_advisory_unlock(24)")
        eventually(lambda: not sessions_of_ours(database), what="its session to end")
        left = kept_keys(database)
        assert left.pop("meanwhile") == left["stop here"] == 1
        assert 1 < sum(left.values()) < 10_001
    assert pruned("--older-than", "1h")["deleted"] == sum(left.values())
    assert kept_keys(database) == {"meanwhile": 1}


@contextmanager
def stop_at(database: Database, key: str) -> Iterator[None]:
    """Who deletes this row waits for an advisory lock."""
    database.execute(
        "create function public.stop_here() returns trigger language plpgsql as"
        " $$ begin perform pg_advisory_xact_lock(24); return old; end $$"
    )
    database.execute(
        "create trigger stop_here before delete on outbox.outbox for each row"
        f" when (old.aggregate_id = '{key}') execute function public.stop_here()"
    )
    try:
        yield
    finally:
        database.execute("drop trigger stop_here on outbox.outbox")
        database.execute("drop function public.stop_here()")


def somebody_waits(database: Database) -> bool:
    found = database.execute("select from pg_locks where locktype = 'advisory' and not granted").fetchall()
    return bool(found)


def sessions_of_ours(database: Database) -> bool:
    found = database.execute("select from pg_stat_activity where application_name = 'outbox'").fetchall()
    return bool(found)


def test_a_slot_that_was_made_anew_keeps_all_rows(
    ready: Settings, database: Database, events: TopicTail
) -> None:
    """What was committed while there was none is in the table only, though the new slot has confirmed everything."""
    ask(ready, lambda connect: connect.stop("outbox"))
    eventually(lambda: not slot_is_active(database), what="the slot to be left")
    database.execute("select pg_drop_replication_slot('outbox')")
    append_rows(database, 1, key="never sent", age=2 * HOUR)
    missing = run_prune("--older-than", "1h")
    assert missing.exit_code == 1
    assert "there is no replication slot outbox" in missing.stderr

    set_up(ready)
    found = pruned("--older-than", "1h")
    assert (found["deleted"], found["kept"]["after_gap"]) == (0, 1)
    assert "may never have been sent" in run_prune("--older-than", "1h").stdout
    append_rows(database, 1, key="last", age=HOUR / 2)
    assert keys(events, b"last") == {b"last": 1}
    assert kept_keys(database) == {"never sent": 1, "last": 1}


def test_a_lost_slot_is_refused(ready: Settings, database: Database) -> None:
    """Postgres threw WAL away that was not read: the rows are the only copy of their events."""
    with stopped_connector(ready, database):
        append_rows(database, 1, key="old", age=2 * HOUR)
        database.execute("alter system set max_slot_wal_keep_size = '16MB'")
        database.execute("select pg_reload_conf()")
        try:
            eventually(lambda: lost(database), what="the slot to be lost", timeout_s=60)
            refused = run_prune("--older-than", "1h")
            assert refused.exit_code == 1
            assert "the replication slot outbox is lost" in refused.stderr
            assert refused.stdout == ""
            assert kept_keys(database) == {"old": 1}
        finally:
            database.execute("alter system reset max_slot_wal_keep_size")
            database.execute("select pg_reload_conf()")
            database.execute("select pg_drop_replication_slot('outbox')")


def lost(database: Database) -> bool:
    """Write WAL until Postgres gives the slot up."""
    for _ in range(4):
        database.execute("select pg_logical_emit_message(false, 'test', repeat('x', 1000000))")
        database.execute("select pg_switch_wal()")
    database.execute("checkpoint")
    found = database.execute(
        "select wal_status from pg_replication_slots where slot_name = 'outbox'"
    ).fetchone()
    return found == ("lost",)
