"""`outbox replay run` as an operator calls it: looked at first, agreed to, broken off, gone on with."""

from __future__ import annotations

import json
import signal
from collections import Counter
from datetime import datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from streams import topics
from streams.cli.replay import app
from tests.integration.replay.test_commands import answer, run, start
from tests.integration.replay.test_range import span, target
from tests.support.pipeline import Pipeline
from tests.support.replaying import a_new_endpoint
from tests.support.topics import TopicTail


def replays(running: Pipeline) -> list[Any]:
    listed: list[Any] = answer(run(running, "replay", "list", "--json"))["replays"]
    return listed


def test_nobody_named_is_an_error_that_lists_who_there_is(running: Pipeline) -> None:
    """Endpoints with their types, and whether they are disabled. Nothing is sent to all of them by an oversight."""
    mailbox = running.mailbox()
    off = running.change(running.mailbox(), enabled=False)
    said = run(running, "replay", "run", "--from", "1h", "--to", "0s", code=2).text
    assert f"{target(mailbox)}  {mailbox.event_type},{mailbox.event_type}.*" in said
    assert f"{target(off)}  {off.event_type},{off.event_type}.*  (disabled)" in said
    for arguments, word in (
        (("--target", "handler:billing"), "--type"),
        (("--target", "billing"), "handler:<name>"),
        (("--target", mailbox.id, "--aggregate", "order"), "order/42"),
        (("--target", mailbox.id, "--rate", "fast"), "50/s"),
        (("--target", mailbox.id, "--source", "s3"), "postgres"),
    ):
        refused = run(running, "replay", "run", "--from", "1h", "--to", "0s", *arguments, code=2)
        assert word in refused.text
    ahead = run(
        running, "replay", "run", "--from", "2999-01-01", "--to", "3000-01-01", "--target", mailbox.id, code=2
    )
    assert "future" in ahead.text


def test_it_shows_what_it_would_send_and_asks(running: Pipeline) -> None:
    """Per type and target. A dry run makes no replay and sends nothing, and neither does one to which nobody agrees."""
    _, history, new = a_new_endpoint(running, after=12)
    more = running.append_many(f"{new.event_type}.more", 3)
    new.wait_for_events(more)
    begin, end = span(running, [history[0], more[-1]])
    asked = ("replay", "run", "--from", begin, "--to", end, "--target", new.id)
    known = replays(running)
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    found = answer(run(running, *asked, "--dry-run", "--json"))
    assert found["deliveries"] == [
        {"type": f"{new.event_type}.history", "target": target(new), "number": 12},
        {"type": f"{new.event_type}.more", "target": target(new), "number": 3},
    ]
    assert (found["number"], found["matching"], found["warning"]) == (15, 15, None)
    shown = run(running, *asked, "--dry-run").text
    assert "15 deliveries to send" in shown
    declined = run(running, *asked, code=1)
    assert "Send 15 deliveries?" in declined.text
    nothing = run(running, *asked, "--type", "nobody.*")
    assert "Nothing was sent" in nothing.text
    none = answer(run(running, *asked, "--type", "nobody.*", "--json"))
    assert (none["dry_run"], none["number"], none["deliveries"]) == (False, 0, [])
    stranger = run(running, *asked, "--type", "*", "--target", "handler:never-heard-of", "--dry-run")
    assert "handler:never-heard-of" in stranger.text
    assert "dead letters" in stranger.text
    assert (replays(running), list(tail.to_the_end())) == (known, [])


def test_who_agrees_has_a_replay_and_only_then(running: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question says how many. With --detach it is only asked for; the same key follows the first without asking."""
    monkeypatch.setenv("OUTBOX_DATABASE_URL", running.installation.database_url)
    monkeypatch.setenv("OUTBOX_KAFKA_BOOTSTRAP_SERVERS", running.kafka)
    _, history, new = a_new_endpoint(running, after=3)
    begin, end = span(running, history)
    asked = ["run", "--from", begin, "--to", end, "--target", new.id, "--detach", "--json", "--key", new.id]
    known = len(replays(running))
    no = CliRunner().invoke(app, asked, input="n\n")
    assert (no.exit_code, len(replays(running))) == (1, known)
    yes = CliRunner().invoke(app, asked, input="y\n")
    assert yes.exit_code == 0, yes.output
    assert "Send 3 deliveries?" in yes.stderr
    made = json.loads(yes.stdout[yes.stdout.index("{") :])  # behind the answer, which the runner echoes
    assert (made["kind"], made["status"]) == ("range", "waiting")
    asked_for = [datetime.fromisoformat(text) for text in (made["from"], made["to"], begin, end)]
    assert asked_for[:2] == asked_for[2:]
    again = CliRunner().invoke(app, asked, input="")
    assert json.loads(again.stdout)["id"] == made["id"]
    assert len(replays(running)) == known + 1
    assert answer(run(running, "replay", "stop", made["id"], "--json"))["status"] == "stopped"


def test_a_new_endpoint_is_fed_history_broken_off_and_gone_on_with(running: Pipeline) -> None:
    """No API runs: the command executes it. After Ctrl-C, `replay resume` sends the rest; in all, each event once."""
    _, history, new = a_new_endpoint(running, after=40)
    begin, end = span(running, history)
    tail = TopicTail(running.kafka, topics.REDELIVERY)
    command = start(
        running, "replay", "run", "--from", begin, "--to", end, "--target", new.id, "--rate", "10/s", "--yes"
    )
    tail.wait_until(lambda records: len(records) >= 15, what="15 events")
    command.signal(signal.SIGINT)
    assert command.wait_for_end() == 130
    left = replays(running)[0]
    assert (left["kind"], left["target"], left["status"]) == ("range", target(new), "running")
    assert (left["targets"], left["types"], left["source"]) == ([target(new)], [], "kafka")
    assert f"outbox replay resume {left['id']}" in command.text
    said = run(running, "replay", "resume", left["id"]).text
    assert said.splitlines()[-1].startswith(f"done: {len(history)} sent")
    new.wait_for_events(history)
    assert sorted(new.ids) == sorted(map(str, history))
    sent = [one for one in tail.to_the_end() if one.headers.get("outbox-replay-id") == left["id"]]
    assert Counter(one.event_id for one in sent) == Counter(map(str, history))
    shown = json.loads(run(running, "replay", "show", left["id"], "--json").text)
    assert (shown["status"], shown["sent"], shown["requested_by"]) == ("done", 40, left["requested_by"])
    assert left["requested_by"].startswith("cli:")
