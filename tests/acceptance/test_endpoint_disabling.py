"""An endpoint answers 410: it is asked no more, it is disabled, the product hears of it, and nothing of it is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli.endpoints import app
from tests.support.answers import respond
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline


def shown(running: Pipeline, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("OUTBOX_DATABASE_URL", running.installation.database_url)
    result = CliRunner().invoke(app, ["show", mailbox.id, "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def said_of(running: Pipeline, mailbox: Mailbox) -> list[tuple[str, str]]:
    """The ids and types of the outbox's own events about an endpoint."""
    with running.connect() as connection:
        return connection.execute(
            "select id::text, type from outbox.outbox where aggregate_type = 'endpoint' and aggregate_id = %s",
            (mailbox.id,),
        ).fetchall()


def test_an_endpoint_that_is_gone(
    running: Pipeline, scheduler: Child, recorder: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 16: no attempt after its 410, with the recorder away as well; disabled; told once; what waits is kept.

    The event reaches a handler, and no other endpoint through a wildcard. Enabled again, it gets what waited.
    """
    other = running.mailbox(event_type="endpoint")  # and so subscribed to endpoint.*
    running.wait_until_known(other)
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    eventually(lambda: shown(running, mailbox, monkeypatch)["health"]["state"] == "ok", what="its health")

    recorder.freeze()
    scheduler.freeze()
    mailbox.answer_with(respond(503))
    waiting = running.append(mailbox.event_type)
    running.attempts.wait_for(waiting, "failed")
    mailbox.answer_with(respond(410))
    gone = running.append(mailbox.event_type)
    running.attempts.wait_for(gone, "rejected")
    asked = len(mailbox.received)
    held = running.append(mailbox.event_type)
    running.attempts.wait_for(held, "deferred")

    recorder.thaw()
    told = eventually(lambda: said_of(running, mailbox) or None, what="the event that tells it")
    [(event_id, event_type)] = told
    assert event_type == "endpoint.disabled"
    running.attempts.wait_for(event_id, "succeeded", target="handler:tells-the-customer")
    assert not other.of(event_id)
    assert not running.attempts.to_the_end().of(event_id, other.id)
    now = shown(running, mailbox, monkeypatch)
    assert (now["enabled"], now["disabled_reason"]) == (False, "gone")
    assert (now["health"]["state"], now["health"]["last_error"]) == ("failing", "answered 410 Gone")

    running.wait_until_forgotten(mailbox)
    scheduler.thaw()
    for event in (waiting, held):
        running.attempts.wait_until(
            lambda log, event=event: log.of(event)[-1:] and "is disabled" in str(log.of(event)[-1]["error"]),  # type: ignore[misc]
            what="another deferral of what waits",
        )
    assert len(mailbox.received) == asked

    mailbox.answer_with(respond(204))
    running.change(mailbox, enabled=True)
    for event in (waiting, held):
        running.attempts.wait_until(
            lambda log, event=event: log.of(event)[-1]["outcome"] == "succeeded",  # type: ignore[misc]
            what="what waited",
        )
    assert not [turn for turn in running.attempts.of(gone) if turn["outcome"] == "succeeded"]
    back = eventually(
        lambda: (
            ((found := shown(running, mailbox, monkeypatch))["health"]["state"] == "ok" and found) or None
        ),
        what="its health",
    )
    assert (back["enabled"], back["disabled_reason"], back["health"]["failing_since"]) == (True, None, None)
    assert said_of(running, mailbox) == told
