"""Migrations against a real Postgres: repeatable, safe when several run at once, and undone by their rollbacks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from yoyo import read_migrations

import connectors.postgres
from connectors.postgres.connection import connection_parameters
from connectors.postgres.errors import DatabaseUnsuitableError, MigrationError, StatementFailedError
from connectors.postgres.migration_backend import MigrationBackend
from connectors.postgres.schema import migrate, pending
from tests.integration.conftest import a_database

FOLDER = Path(connectors.postgres.__file__).parent / "migrations"
ALL = tuple(sorted(path.stem for path in FOLDER.glob("*.sql") if not path.stem.endswith(".rollback")))


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    with a_database(database_url) as url:
        yield url


def all_rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


def tables(url: str) -> set[str]:
    return {name for (name,) in all_rows(url, "select tablename from pg_tables where schemaname = 'outbox'")}


def test_looking_changes_nothing(url: str) -> None:
    """`outbox setup --dry-run` names what it would do, and leaves an empty database empty."""
    assert pending(url) == ALL
    assert all_rows(url, "select nspname from pg_namespace where nspname = 'outbox'") == []
    assert all_rows(url, "select tablename from pg_tables where schemaname = 'public'") == []


def test_migrating_twice_does_it_once(url: str) -> None:
    """The first run takes all migrations, the second none."""
    assert migrate(url) == ALL
    assert pending(url) == ()
    assert migrate(url) == ()


def test_everything_of_it_is_in_the_schema_outbox(url: str) -> None:
    """The migration library's tables too: a business' own schema gets nothing."""
    migrate(url)
    assert tables(url) == {
        "outbox",
        "endpoints",
        "endpoint_health",
        "audit",
        "capture_gaps",
        "deliveries",
        "attempts",
        "replays",
        "dead_letters",
        "_yoyo_migration",
        "_yoyo_log",
        "_yoyo_version",
    }
    assert all_rows(url, "select tablename from pg_tables where schemaname = 'public'") == []


def test_the_publication_has_inserts_of_the_outbox_alone(url: str) -> None:
    """Deletes of delivered rows are not decoded, and no other table is published."""
    migrate(url)
    [publication] = all_rows(
        url,
        "select pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot from pg_publication where pubname = "
        "'outbox'",
    )
    assert publication == (True, False, False, False, True)
    assert all_rows(
        url, "select schemaname, tablename from pg_publication_tables where pubname = 'outbox'"
    ) == [("outbox", "outbox")]


def test_a_publication_that_an_operator_made_is_completed(url: str) -> None:
    """An existing publication of that name keeps its tables, and gets the outbox."""
    with psycopg.connect(url) as connection:
        connection.execute("create table public.other (id int primary key)")
        connection.execute("create publication outbox for table public.other")
    migrate(url)
    assert all_rows(
        url, "select tablename from pg_publication_tables where pubname = 'outbox' order by 1"
    ) == [
        ("other",),
        ("outbox",),
    ]


def test_several_at_once_apply_each_migration_once(url: str) -> None:
    """Every replica of a deployment may run `outbox setup` at its start: one migrates, the others find it done."""
    runs = 6
    start = threading.Barrier(runs)

    def run() -> tuple[str, ...]:
        start.wait()
        return migrate(url)

    with ThreadPoolExecutor(runs) as pool:
        taken = [future.result() for future in [pool.submit(run) for _ in range(runs)]]
    assert sorted(taken) == [()] * (runs - 1) + [ALL]
    assert all_rows(url, "select migration_id from outbox._yoyo_migration order by 1") == [
        (name,) for name in ALL
    ]
    assert len(all_rows(url, "select id from outbox._yoyo_log where operation = 'apply'")) == len(ALL)


def test_a_run_that_was_killed_before_it_took_note_can_be_repeated(url: str) -> None:
    """The library commits a migration before it records it: each is repeatable, and keeps the rows that are there."""
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("select outbox.append('order.created', 'order', '42', '{}')")
        connection.execute("delete from outbox._yoyo_migration")
    assert migrate(url) == ALL
    assert all_rows(url, "select aggregate_id from outbox.outbox") == [("42",)]


def test_a_migration_does_not_hold_up_the_application_behind_a_long_transaction(url: str) -> None:
    """It gives up after some seconds and says so; the application's own transactions go on, and it can be repeated."""
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("delete from outbox._yoyo_migration")
    with psycopg.connect(url) as long_one:
        long_one.execute("select outbox.append('order.created', 'order', '42', '{}')")
        with pytest.raises(MigrationError, match="another transaction has held"):
            migrate(url)
        with psycopg.connect(url) as application:
            application.execute("set statement_timeout = '60s'")
            application.execute("select outbox.append('order.created', 'order', '43', '{}')")
    assert migrate(url)
    assert pending(url) == ()
    assert all_rows(url, "select aggregate_id from outbox.outbox order by 1") == [("42",), ("43",)]


def test_a_row_of_another_version_is_kept(url: str) -> None:
    """A database that a newer version has migrated is left as it is."""
    migrate(url)
    with psycopg.connect(url) as connection:
        connection.execute("insert into outbox._yoyo_migration values ('hash', '9999.later', now())")
    assert pending(url) == ()
    assert migrate(url) == ()


def test_rollbacks_undo_their_migrations(url: str) -> None:
    """What each migration makes, its rollback removes; then it can be applied again."""
    migrate(url)
    migrations = read_migrations("package:connectors.postgres:migrations")
    with MigrationBackend.of(connection_parameters(url), schema="outbox") as backend:
        backend.rollback_migrations(backend.to_rollback(migrations))
    assert tables(url) == {"_yoyo_migration", "_yoyo_log", "_yoyo_version"}
    assert all_rows(url, "select pubname from pg_publication") == []
    assert all_rows(url, "select proname from pg_proc where pronamespace = 'outbox'::regnamespace") == []
    assert migrate(url) == ALL


def test_every_migration_has_a_rollback_and_says_what_it_is_for() -> None:
    """No migration comes without its way back, nor without a comment."""
    assert ALL[0] == "0001.create-outbox-table"
    assert {path.name for path in FOLDER.iterdir()} == {
        f"{name}{ending}" for name in ALL for ending in (".sql", ".rollback.sql")
    }
    for path in FOLDER.iterdir():
        assert path.read_text(encoding="utf-8").startswith("-- "), path.name


def test_a_database_that_is_not_utf8_is_refused(database_url: str) -> None:
    """Another encoding couldn't keep every payload as it was."""
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("drop database if exists test_latin1")
        server.execute("create database test_latin1 encoding 'LATIN1' locale 'C' template template0")
    try:
        with pytest.raises(DatabaseUnsuitableError, match="encoded in LATIN1"):
            migrate(make_conninfo(database_url, dbname="test_latin1"))
    finally:
        with psycopg.connect(database_url, autocommit=True) as server:
            server.execute("drop database test_latin1 with (force)")


def test_a_role_without_the_right_is_told_so(url: str) -> None:
    """The error names what was refused; nothing is half done."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop role if exists test_reader")
        connection.execute("create role test_reader login password 'hunter2'")
    reader = make_conninfo(url, user="test_reader", password="hunter2")
    try:
        with pytest.raises((StatementFailedError, MigrationError), match="permission denied for database"):
            migrate(reader)
        assert pending(url) == ALL
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("drop role test_reader")
