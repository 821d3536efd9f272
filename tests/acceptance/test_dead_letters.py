"""From a handler that fails for good to the delivery that somebody redrove: as an operator does it."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from tests.support.answers import respond
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.marks import PAYLOAD_MARK
from tests.support.pipeline import Pipeline, marked_payload


def command(running: Pipeline, *arguments: str) -> str:
    """Run `outbox dead-letters …` as a person does, and give what it said."""
    child = running.start("dead-letters", *arguments, database_url=running.installation.database_url)
    code = child.wait_for_end()
    assert code == 0, child.text
    assert PAYLOAD_MARK not in child.text
    return child.text


def listed(running: Pipeline, *arguments: str) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = json.loads(command(running, "list", *arguments, "--json"))["dead_letters"]
    return said


def test_a_dead_letter_is_found_understood_redriven_and_delivered_once(
    running: Pipeline, recorder: Child
) -> None:
    """A handler refuses its event until somebody mends what it asks; the redrive is its one success."""
    assert recorder.is_running
    asked = running.mailbox(respond(403))
    event_id = running.append("handled.asks", payload=marked_payload(url=asked.endpoint.url))
    running.attempts.wait_for(event_id, "rejected")
    letter = the_letter_of(running, event_id)
    assert (letter["code"], letter["class"], letter["target"], letter["attempts"]) == (
        "HANDLER_PERMANENT_FAILURE",
        "undelivered",
        "handler:asks",
        1,
    )
    shown = command(running, "show", letter["id"])
    for text in (letter["origin"], "first_error", "PermanentError: answered 403", str(event_id)):
        assert text in shown
    asked.answer_with(respond(204))
    assert "done: 1 sent, 0 skipped" in command(running, "redrive", letter["id"])
    running.attempts.wait_for(event_id, "rejected", "succeeded")
    assert [row["status"] for row in listed(running, "--event", str(event_id))] == ["redriven"]
    again = running.start(
        "dead-letters", "redrive", letter["id"], database_url=running.installation.database_url
    )
    assert again.wait_for_end() == 1
    assert len(asked.received) == 2
    turns = running.attempts.to_the_end().of(event_id)
    assert [(turn["outcome"], turn["attempt"]) for turn in turns] == [("rejected", 1), ("succeeded", 1)]


def the_letter_of(running: Pipeline, event_id: UUID) -> dict[str, Any]:
    rows = eventually(
        lambda: listed(running, "--event", str(event_id), "--status", "open") or None,
        what=f"the dead letter of {event_id}",
    )
    assert len(rows) == 1
    return rows[0]
