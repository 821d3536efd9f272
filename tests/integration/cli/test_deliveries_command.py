"""`outbox deliveries` against a real Postgres."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner, Result

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.cli.deliveries import app
from streams.recorder.fold import fold
from tests.support.attempt_records import CREATED_AT_MS, an_entry


@pytest.fixture
def run(outbox_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OUTBOX_DATABASE_URL", outbox_database_url)
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.deliveries, outbox.attempts")
    entries = [
        an_entry("retried", event_id=str(UUID(int=1)), error="\x1b[31mred", attempt_id=str(UUID(int=101))),
        an_entry(
            "rejected",
            event_id=str(UUID(int=2)),
            event_created_at_ms=CREATED_AT_MS + 1,
            event_type="user.left",
        ),
        an_entry(event_id=str(UUID(int=3)), event_created_at_ms=CREATED_AT_MS + 2, target="handler:bill"),
    ]
    writer = DeliveryLogWriter(outbox_database_url)
    writer.write([entry.attempt for entry in entries], fold(entries))
    writer.close()

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})

    return run


def answer(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def events(result: Result) -> list[int]:
    return [UUID(delivery["event_id"]).int for delivery in answer(result)["deliveries"]]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), [3, 2, 1]),
        (("--target", "handler:bill"), [3]),
        (("--target", "ep_1"), [2, 1]),
        (("--event", str(UUID(int=2))), [2]),
        (("--type", "order.created"), [3, 1]),
        (("--status", "failed,retrying"), [2, 1]),
        (("--status", "failed", "--status", "succeeded"), [3, 2]),
        (("--since", "2026-03-01T12:30:00.124Z"), [3, 2]),
        (("--until", "2026-03-01T13:30:00.124+01:00"), [1]),
        (("--since", "1h"), []),
    ],
)
def test_a_list_is_cut_by_what_is_asked(run: Any, arguments: tuple[str, ...], found: list[int]) -> None:
    """Each option narrows it; the newest event's delivery comes first."""
    assert events(run("list", *arguments, "--json")) == found


def test_pages_follow_each_other(run: Any) -> None:
    """The cursor of one page leads to the next, for programs and, on stderr, for people."""
    first = answer(run("list", "--limit", "2", "--json"))
    assert first["next_cursor"] in run("list", "--limit", "2").stderr
    second = run("list", "--limit", "2", "--cursor", first["next_cursor"], "--json")
    assert events(second) == [1]
    assert answer(second)["next_cursor"] is None
    assert run("list", "--cursor", "2").exit_code == 1


def test_a_delivery_is_shown_with_its_attempts(run: Any) -> None:
    """A receiver's words can't steer the terminal, and an id stands on one line to be copied."""
    [delivery] = answer(run("list", "--status", "retrying", "--json"))["deliveries"]
    assert delivery["id"] in run("list").stdout
    shown = run("show", delivery["id"])
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    assert "maintenance" in shown.stdout
    assert answer(run("show", delivery["id"], "--json"))["attempts_made"][0]["outcome"] == "failed"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list", "--status", "lost"), 2),
        (("list", "--event", "42"), 2),
        (("list", "--since", "yesterday"), 2),
        (("list", "--limit", "0"), 2),
        (("show", "ep_1"), 1),
        (("show", str(UUID(int=7))), 1),
    ],
)
def test_what_cannot_be_is_refused_with_a_word(run: Any, arguments: tuple[str, ...], code: int) -> None:
    """No traceback: the option that is wrong, or what to do."""
    result = run(*arguments)
    assert result.exit_code == code
    assert result.stderr
    assert "Traceback" not in result.output
