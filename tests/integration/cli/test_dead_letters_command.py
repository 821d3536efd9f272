"""`outbox dead-letters` against a real Postgres: what is chosen, shown, asked for and put aside.

What a redrive sends is tested with Kafka, in `tests/integration/redrive`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner, Result

from streams.cli.dead_letters import app
from tests.support.dead_letters import DIED_AT_MS, a_row, rows_of, store_rows

LATER = datetime.fromtimestamp((DIED_AT_MS + 2) / 1000, UTC).isoformat()
ROWS = [
    a_row(0, error="\x1b[31mred"),
    a_row(1, code="ENDPOINT_EXHAUSTED", target="endpoint:ep_2"),
    a_row(2, code="HANDLER_NOT_REGISTERED", target=None, event_type="user.left"),
    a_row(3, code="EVENT_MALFORMED", letter_class="poison", target=None, event_id=None),
]


@pytest.fixture
def run(outbox_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("OUTBOX_DATABASE_URL", outbox_database_url)
    # Nothing here gets as far as Kafka.
    monkeypatch.setenv("OUTBOX_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    # The log is a process's own, and this process is the suite's: others look at what is logged.
    monkeypatch.setattr("streams.cli.dead_letters.configure_log", lambda **_: None)
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.dead_letters, outbox.replays, outbox.audit")
    store_rows(outbox_database_url, *ROWS)

    def run(*arguments: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(app, arguments, input=answer, env={"COLUMNS": "200"})

    return run


def parsed(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def places(result: Result) -> list[int]:
    return [int(letter["place"].partition("/")[2]) for letter in parsed(result)["dead_letters"]]


def statuses(url: str) -> list[str]:
    return [row["status"] for row in rows_of(url)]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), [3, 2, 1, 0]),
        (("--code", "ENDPOINT_EXHAUSTED,EVENT_MALFORMED"), [3, 1]),
        (("--code", "ENDPOINT_EXHAUSTED", "--code", "HANDLER_NOT_REGISTERED"), [2, 1]),
        (("--class", "poison"), [3]),
        (("--class", "undelivered"), [2, 1, 0]),
        (("--target", "endpoint:ep_2"), [1]),
        (("--target", "ep_2"), [1]),
        (("--type", "user.left"), [2]),
        (("--event", str(UUID(int=1))), [0]),
        (("--since", LATER), [3, 2]),
        (("--until", LATER), [1, 0]),
        (("--since", "1h"), []),
        (("--status", "open,redriven"), [3, 2, 1, 0]),
        (("--status", "discarded"), []),
    ],
)
def test_a_list_is_cut_by_what_is_asked(run: Any, arguments: tuple[str, ...], found: list[int]) -> None:
    """Each option narrows it; what died last comes first."""
    assert places(run("list", *arguments, "--json")) == found


def test_pages_follow_each_other(run: Any) -> None:
    """The cursor of one page leads to the next, for programs and, on stderr, for people."""
    first = parsed(run("list", "--limit", "3", "--json"))
    assert first["next_cursor"] in run("list", "--limit", "3").stderr
    second = run("list", "--limit", "3", "--cursor", first["next_cursor"], "--json")
    assert places(second) == [0]
    assert parsed(second)["next_cursor"] is None
    assert run("list", "--cursor", "2").exit_code == 1


def test_one_is_shown_with_where_it_is_from(run: Any) -> None:
    """Origin, place, times, attempts, its last error; a receiver's words can't steer the terminal."""
    shown = run("show", ROWS[0].id)
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    for text in (
        "outbox.events/3/1000",
        "3/0",
        "2026-03-01 12:30:01.000",
        "[31mred",
        "undelivered",
        ROWS[0].id,
    ):
        assert text in shown.stdout
    assert ROWS[0].id in run("list").stdout
    as_json = parsed(run("show", ROWS[0].id, "--json"))
    assert (as_json["class"], as_json["attempts"], as_json["first_error"]) == ("undelivered", 3, None)


def test_a_dry_run_changes_nothing(run: Any, outbox_database_url: str) -> None:
    """It counts what would be done by class, code and target: to people, and to programs."""
    for verb, number in (("redrive", 3), ("discard", 4)):
        told = run(verb, "--all", "--dry-run")
        assert f"Would {verb} {number} dead letters" in told.stdout
        assert "ENDPOINT_EXHAUSTED" in told.stderr
        assert parsed(run(verb, "--all", "--dry-run", "--json"))["number"] == number
    assert "1 dead letter of class poison left out" in run("redrive", "--all", "--dry-run").stderr
    assert parsed(run("redrive", "--all", "--include-poison", "--dry-run", "--json"))["number"] == 4
    assert statuses(outbox_database_url) == ["open"] * 4


def test_more_than_one_is_asked_for(run: Any, outbox_database_url: str) -> None:
    """No, or no answer, is no; --yes is said before, and one that is named by its id is meant."""
    assert run("discard", "--code", "ENDPOINT_REJECTED,ENDPOINT_EXHAUSTED", answer="n\n").exit_code == 1
    assert run("redrive", "--all").exit_code == 1
    assert statuses(outbox_database_url) == ["open"] * 4
    assert run("discard", ROWS[3].id).stdout == "1 dead letter discarded\n"
    assert parsed(run("discard", "--target", "ep_1", "--type", "order.created", "--json"))["discarded"] == 1
    assert run("discard", "--all", answer="y\n").stdout.endswith("2 dead letters discarded\n")
    assert statuses(outbox_database_url) == ["discarded"] * 4
    nothing = run("discard", "--all", "--yes")
    assert (nothing.exit_code, nothing.stdout) == (1, "")


def test_who_discarded_is_known(run: Any, outbox_database_url: str) -> None:
    """The user of the command line, in the row and in the audit table."""
    assert run("discard", ROWS[0].id).exit_code == 0
    by = rows_of(outbox_database_url)[0]["changed_by"]
    assert by.startswith("cli:")
    with psycopg.connect(outbox_database_url) as connection:
        entries = connection.execute("select actor, action from outbox.audit").fetchall()
    assert entries == [(by, "dead_letters.discarded")]


def test_poison_is_not_redriven_by_an_oversight(run: Any, outbox_database_url: str) -> None:
    """By its id it is refused, with the reason; beside others it makes all of them be refused."""
    refused = run("redrive", ROWS[3].id, ROWS[0].id, "--yes")
    assert refused.exit_code == 1
    assert "can't be read (class poison)" in refused.stderr
    assert run("redrive", "--class", "poison").exit_code == 1
    assert statuses(outbox_database_url) == ["open"] * 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("list", "--status", "lost"), 2),
        (("list", "--class", "bad"), 2),
        (("list", "--code", "endpoint gone"), 2),
        (("list", "--event", "42"), 2),
        (("list", "--since", "yesterday"), 2),
        (("list", "--limit", "0"), 2),
        (("show", "3/17"), 1),
        (("show", str(UUID(int=7))), 1),
        (("redrive",), 2),
        (("discard",), 2),
        (("redrive", "3/17"), 2),
        (("redrive", "--all", "--rate", "0"), 2),
        (("redrive", str(UUID(int=7))), 1),
    ],
)
def test_what_cannot_be_is_refused_with_a_word(run: Any, arguments: tuple[str, ...], code: int) -> None:
    """No traceback: the option that is wrong, or what to do."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stderr
    assert "Traceback" not in result.output
