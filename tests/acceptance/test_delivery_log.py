"""From a committed row to the delivery log: what a customer asks, "did you send it?", has an answer."""

from __future__ import annotations

import json
import urllib.request
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from typer.testing import CliRunner

from connectors.postgres.connection import connect
from connectors.postgres.delivery_log import DeliveryLog
from connectors.postgres.logged_delivery import DeliveryQuery, LoggedDelivery
from streams.cli.deliveries import app
from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.marks import PAYLOAD_MARK
from tests.support.pipeline import Pipeline
from tests.support.threaded_api import threaded_api


def logged(running: Pipeline, event_id: UUID) -> LoggedDelivery | None:
    with connect(running.installation.database_url) as connection:
        page = DeliveryLog(connection).list(DeliveryQuery(event_id=event_id), limit=10)
    assert len(page.deliveries) <= 1
    return page.deliveries[0] if page.deliveries else None


def wait_until(running: Pipeline, event_id: UUID, status: str) -> LoggedDelivery:
    def there() -> LoggedDelivery | None:
        found = logged(running, event_id)
        return found if found is not None and found.status == status else None

    return eventually(there, what=f"{event_id} as {status} in the log")


def test_a_delivery_is_followed_from_its_first_failure_to_its_success(
    running: Pipeline, scheduler: Child, recorder: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retrying while it waits, then succeeded, with both attempts; the command shows them, and no payload."""
    assert scheduler.is_running
    assert recorder.is_running
    mailbox = running.mailbox(attempt_by_attempt(respond(503, body=b"maintenance"), respond(204)))
    running.wait_until_known(mailbox)
    scheduler.freeze()
    event_id = running.append(f"{mailbox.event_type}.flaky")
    waiting = wait_until(running, event_id, "retrying")
    assert (waiting.attempts, waiting.http_status, waiting.target) == (1, 503, f"endpoint:{mailbox.id}")
    assert waiting.next_attempt_at is not None
    assert timedelta(0) < waiting.next_attempt_at - waiting.last_attempt_at < timedelta(seconds=5)
    scheduler.thaw()
    done = wait_until(running, event_id, "succeeded")
    assert (done.id, done.attempts, done.http_status, done.error) == (waiting.id, 2, 204, None)

    monkeypatch.setenv("OUTBOX_DATABASE_URL", running.installation.database_url)
    shown = CliRunner().invoke(app, ["show", str(done.id), "--json"])
    assert shown.exit_code == 0, shown.output
    turns = json.loads(shown.stdout)["attempts_made"]
    assert [(turn["outcome"], turn["http_status"]) for turn in turns] == [("failed", 503), ("succeeded", 204)]
    assert turns[0]["excerpt"] == "maintenance"
    assert PAYLOAD_MARK not in shown.stdout


def test_a_dead_letter_is_a_failed_delivery(running: Pipeline, scheduler: Child, recorder: Child) -> None:
    """With the code and the words of its dead letter."""
    assert scheduler.is_running
    assert recorder.is_running
    mailbox = running.mailbox(respond(404))
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.refused")
    failed = wait_until(running, event_id, "failed")
    assert (failed.attempts, failed.error_code, failed.http_status) == (1, "ENDPOINT_REJECTED", 404)
    assert failed.next_attempt_at is None


def test_an_event_is_in_the_log_soon(running: Pipeline, recorder: Child) -> None:
    """The log of all deliveries of a burst is there without anybody's help, each once."""
    assert recorder.is_running
    mailbox = running.mailbox(respond(204))
    running.wait_until_known(mailbox)
    ids = running.append_many(f"{mailbox.event_type}.burst", 200)

    def all_there() -> bool:
        with connect(running.installation.database_url) as connection:
            query = DeliveryQuery(event_type=f"{mailbox.event_type}.burst")
            page = DeliveryLog(connection).list(query, limit=500)
        statuses = [delivery.status for delivery in page.deliveries]
        return len(page.deliveries) == len(ids) and set(statuses) == {"succeeded"}

    eventually(all_there, what="200 deliveries in the log")


def test_a_delivery_is_found_over_http(running: Pipeline, recorder: Child) -> None:
    """By its endpoint and its event, with the attempt and the receiver's words, and without the payload."""
    assert recorder.is_running
    mailbox = running.mailbox(respond(200, body=b"thank you"))
    running.wait_until_known(mailbox)
    event_id = running.append(f"{mailbox.event_type}.asked")
    with threaded_api(running.installation.database_url) as api:

        def asked(path: str) -> Any:
            request = urllib.request.Request(  # noqa: S310 - our own address
                api.base + path, headers={"Authorization": f"Bearer {api.token}"}
            )
            with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
                text = answer.read().decode()
            assert PAYLOAD_MARK not in text
            return json.loads(text)

        query = f"endpoint_id={mailbox.id}&event_type={mailbox.event_type}.asked&status=succeeded"
        (found,) = eventually(
            lambda: asked(f"/v1/deliveries?{query}")["items"] or None, what=f"{event_id} over HTTP"
        )
        shown = asked(f"/v1/deliveries/{found['id']}")
    assert (found["event_id"], found["target"]) == (str(event_id), f"endpoint:{mailbox.id}")
    (attempt,) = shown["attempts_made"]
    assert (attempt["outcome"], attempt["http_status"]) == ("succeeded", 200)
