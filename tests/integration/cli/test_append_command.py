"""`outbox append` against a real Postgres."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import typer
from typer.testing import CliRunner, Result

from streams.cli.append import append

app = typer.Typer()
app.command()(append)


@pytest.fixture
def run(outbox_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OUTBOX_DATABASE_URL", outbox_database_url)
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("delete from outbox.outbox")

    def run(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(app, arguments, input=stdin)

    return run


def stored(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "select id, type, aggregate_type, aggregate_id, convert_to(payload, 'UTF8'), content_type, "
            "headers from outbox.outbox"
        ).fetchall()


def test_it_appends_and_prints_the_id(run: Any, outbox_database_url: str) -> None:
    """The event is committed when the command ends, and stdout is its id alone, for a script to go on with."""
    result = run(
        *("order.created", "--aggregate", "order/4/2", "--payload", '{"a" : 1}'),
        *("--header", "tenant=a=b", "--header", "region=eu", "--content-type", "application/x+json"),
    )
    assert (result.exit_code, result.stderr) == (0, "")
    headers = {"tenant": "a=b", "region": "eu"}
    event_id = UUID(result.stdout.strip())
    assert stored(outbox_database_url) == [
        (event_id, "order.created", "order", "4/2", b'{"a" : 1}', "application/x+json", headers)
    ]


def test_a_payload_from_a_file_or_stdin_is_verbatim(
    run: Any, outbox_database_url: str, tmp_path: Path
) -> None:
    """INV-5: no line end is added or taken."""
    octets = '\r\n{"name": "Zoë"}\n\n'.encode()
    file = tmp_path / "payload"
    file.write_bytes(octets)
    assert run("a", "--aggregate", "b/1", "--payload", f"@{file}").exit_code == 0
    assert run("a", "--aggregate", "b/2", "--payload", "-", stdin=octets).exit_code == 0
    assert [row[4] for row in stored(outbox_database_url)] == [octets, octets]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("a b", "--aggregate", "order/1", "--payload", "{}"), 1, "outbox: type: 'a b' is no event type"),
        (
            ("a", "--aggregate", "order/1", "--payload", " "),
            1,
            "outbox: payload: is empty or nothing but white space",
        ),
        (("a", "--aggregate", "order/1", "--payload", "@/none"), 2, "can't read '/none'"),
        (("a", "--aggregate", "order", "--payload", "{}"), 2, "'order' has no '/'"),
        (("a", "--aggregate", "order/1", "--payload", "{}", "--header", "x"), 2, "give a name and a value"),
        (
            ("a", "--aggregate", "order/1", "--payload", "{}", "--header", "a=1", "--header", "a=2"),
            2,
            "'a' is given twice",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_text(
    run: Any, outbox_database_url: str, arguments: tuple[str, ...], exit_code: int, message: str
) -> None:
    """No traceback; nothing on stdout, nothing stored."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert message in " ".join(result.stderr.replace("│", "").split())
    assert stored(outbox_database_url) == []


def test_an_id_that_is_taken_is_said_plainly(run: Any, outbox_database_url: str) -> None:
    """A script that repeats itself is told that the event is there already, and stores nothing twice."""
    event_id = "0197a5d2-6a4e-7cc1-9d3c-2b6a1f0e4d5c"
    arguments = ("a", "--aggregate", "order/1", "--payload", "{}", "--id", event_id)
    assert run(*arguments).exit_code == 0
    again = run(*arguments)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr == f"outbox: event {event_id} was appended before; nothing was written\n"
    assert len(stored(outbox_database_url)) == 1


def test_a_database_that_is_not_set_up_says_what_to_do(
    run: Any, fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commonest first mistake."""
    monkeypatch.setenv("OUTBOX_DATABASE_URL", fresh_database_url)
    result = run("a", "--aggregate", "order/1", "--payload", "{}")
    assert result.exit_code == 1
    assert "Run `outbox setup`" in result.stderr
