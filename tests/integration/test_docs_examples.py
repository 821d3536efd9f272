"""The documentation's examples that need the outbox's database, or Kafka."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlparse

from tests.support.doc_examples import examples
from tests.support.eventually import eventually
from tests.support.marks import PAYLOAD_MARK
from tests.support.pipeline import Pipeline

KAFKA = examples("python kafka")
PYTHON = examples("python database")
SQL = examples("sql database")
COMMANDS = examples("sh letters")


def types(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("select type from outbox.outbox order by created_at").fetchall()
        connection.execute("delete from outbox.outbox")
    return [event_type for (event_type,) in rows]


def run_page(page: str, url: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "an_example", "database_url": url}
    for example in PYTHON[page]:
        exec(compile(example.code, example.page, "exec"), namespace)  # noqa: S102 - our own pages
    return namespace


async def test_the_library_page_appends_what_it_says(outbox_database_url: str) -> None:
    """Each example of the page commits its events; the async one is a function, called here."""
    namespace = run_page("docs/reference/library.md", outbox_database_url)
    place_order = namespace["place_order"]
    assert inspect.iscoroutinefunction(place_order)
    async with await psycopg.AsyncConnection.connect(outbox_database_url) as connection:
        await place_order(connection)
    assert types(outbox_database_url) == ["order.created", *["order.line.added"] * 3, "order.created"]


@pytest.mark.parametrize("page", PYTHON)
def test_the_python_examples_of_a_page_run(page: str, outbox_database_url: str) -> None:
    """A reader who copies an example gets what the page says."""
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("drop table if exists orders")
    run_page(page, outbox_database_url)


def test_the_table_page_appends_what_it_says(outbox_database_url: str) -> None:
    """Its statements run as they stand, for the role that it grants rights to."""
    types(outbox_database_url)
    *appending, granting = SQL["docs/reference/outbox-table.md"]
    with psycopg.connect(outbox_database_url, autocommit=True) as connection:
        try:
            run_sql(connection, granting.code)
            connection.execute("set role shop")
            for example in appending:
                run_sql(connection, example.code)
        finally:
            connection.execute("reset role")
            connection.execute("drop owned by shop")
            connection.execute("drop role shop")
    assert types(outbox_database_url) == ["order.created", "order.created", "order.shipped"]


def run_sql(connection: psycopg.Connection[Any], code: str) -> None:
    for statement in sqlparse.split(code):
        connection.execute(statement)


def test_the_table_page_has_the_columns_that_there_are(outbox_database_url: str) -> None:
    """The table of columns is that of the table: names, types, in order."""
    page = (Path(__file__).parents[2] / "docs/reference/outbox-table.md").read_text(encoding="utf-8")
    assert documented_columns(page) == columns_of(outbox_database_url, "outbox.outbox")


def documented_columns(page: str) -> list[tuple[str, str]]:
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| `")]
    return [(name.strip(" `"), data_type.strip(" `")) for name, data_type in rows]


def columns_of(url: str, table: str) -> list[tuple[str, str]]:
    with psycopg.connect(url) as connection:
        actual = connection.execute(
            "select attname, format_type(atttypid, atttypmod) from pg_attribute "
            "where attrelid = %s::regclass and attnum > 0 order by attnum",
            (table,),
        ).fetchall()
    short = {"timestamp with time zone": "timestamptz"}
    return [(str(name), short.get(str(data_type), str(data_type))) for name, data_type in actual]


@pytest.mark.parametrize("table", ["deliveries", "attempts"])
def test_the_log_page_has_the_columns_that_there_are(outbox_database_url: str, table: str) -> None:
    """Both tables of columns are those of the tables: names, types, in order."""
    page = (Path(__file__).parents[2] / "docs/reference/delivery-log.md").read_text(encoding="utf-8")
    section = page.partition(f"## Columns of `outbox.{table}`")[2].partition("\n## ")[0]
    assert documented_columns(section) == columns_of(outbox_database_url, f"outbox.{table}")


def test_the_dead_letters_reference_has_the_columns_that_there_are(outbox_database_url: str) -> None:
    """The table of columns is that of the table: names, types, in order."""
    page = (Path(__file__).parents[2] / "docs/reference/dead-letters.md").read_text(encoding="utf-8")
    section = page.partition("## Columns of `outbox.dead_letters`")[2].partition("\n## ")[0]
    assert documented_columns(section) == columns_of(outbox_database_url, "outbox.dead_letters")


@pytest.mark.parametrize("page", ["docs/reference/delivery-log.md", "docs/reference/dead-letters.md"])
def test_the_questions_of_the_log_pages_have_answers(outbox_database_url: str, page: str) -> None:
    """Their statements run as they stand."""
    with psycopg.connect(outbox_database_url) as connection:
        for example in SQL[page]:
            run_sql(connection, example.code)


def test_the_commands_of_the_dead_letters_page_do_what_it_says(pipeline: Pipeline) -> None:
    """As they stand, in a shell: the one that nobody wants is listed, redriven, dies again, and is discarded."""
    pipeline.worker()
    pipeline.recorder()
    event_id = pipeline.append("order.created")

    def statuses() -> list[str]:
        with pipeline.connect() as connection:
            found = connection.execute(
                "select status from outbox.dead_letters where event_id = %s order by died_at", (event_id,)
            )
            return [status for (status,) in found]

    look, redrive, discard = COMMANDS["docs/howto/look-at-dead-letters.md"]
    eventually(lambda: statuses() == ["open"], what="the dead letter in Postgres")
    assert "order.created → (no target)" in run_shell(pipeline, look.code)
    said = run_shell(pipeline, redrive.code)
    assert "Would redrive 1 dead letter." in said
    assert "done: 1 sent, 0 skipped" in said
    eventually(lambda: statuses() == ["redriven", "open"], what="the second dead letter")
    assert "1 dead letter discarded" in run_shell(pipeline, discard.code)
    assert statuses() == ["redriven", "discarded"]


def run_shell(pipeline: Pipeline, code: str) -> str:
    """Run a block as a reader would, with `outbox` on the path and the settings in the environment."""
    environment = {
        **os.environ,
        **pipeline.installation.worker_environment,
        "OUTBOX_DATABASE_URL": pipeline.installation.database_url,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "200",
    }
    done = subprocess.run(  # noqa: S603 - our own pages
        ["/bin/sh", "-eu", "-c", code],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert PAYLOAD_MARK not in done.stdout + done.stderr
    return done.stdout


def test_the_dead_letters_page_prints_what_it_says(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each dead letter, with or without a target, and one for each attempt; never the payload."""
    pipeline.worker(handlers="tests.support.scripted_handlers")
    refused, unwanted = pipeline.append("handled.refused"), pipeline.append("wanted.by-nobody")
    pipeline.dead_letters.wait_until(
        lambda letters: {str(refused), str(unwanted)} <= {letter.event_id for letter in letters},
        what="both dead letters",
    )
    pipeline.attempts.wait_for(refused, "rejected")
    monkeypatch.setenv("OUTBOX_KAFKA_BOOTSTRAP_SERVERS", pipeline.kafka)
    namespace: dict[str, Any] = {"__name__": "an_example"}
    for example in KAFKA["docs/howto/look-at-dead-letters.md"]:
        exec(compile(example.code, example.page, "exec"), namespace)  # noqa: S102 - our own pages
    printed = capsys.readouterr().out
    handled = [line for line in printed.splitlines() if line.startswith(str(refused))]
    letter, attempt = handled
    for line in handled:
        assert (
            "handled.refused handler:refuses HANDLER_PERMANENT_FAILURE PermanentError: no such order" in line
        )
        assert "origin=outbox.events/" in line
    assert letter.endswith("attempts=1")
    assert attempt.endswith("attempt=1 rejected next=dead-letter")
    [nobody] = [line for line in printed.splitlines() if line.startswith(str(unwanted))]
    assert "wanted.by-nobody (no target) HANDLER_NOT_REGISTERED" in nobody
    assert PAYLOAD_MARK not in printed
