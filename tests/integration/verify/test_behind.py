"""Where the log is behind, nothing is said: a distinct exit code, and never an alarm."""

from __future__ import annotations

import json

from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.verifying import broken_since, database_now, verified, wait_until_logged


def test_a_recorder_that_is_behind_is_no_loss(pipeline: Pipeline) -> None:
    """Code 2, and why; once it has caught up, 0."""
    pipeline.worker()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    since = database_now(pipeline)
    events = pipeline.append_many(f"{mailbox.event_type}.sold", 20)
    mailbox.wait_for_events(events)
    database_url = pipeline.installation.database_url
    asked = ("verify", "--since", since.isoformat(), "--until", "0s")
    behind = pipeline.start(*asked, "--wait", "1s", database_url=database_url)
    assert behind.wait_for_end(timeout_s=150) == 2, behind.text
    assert "The recorder has" in behind.text
    assert "Traceback" not in behind.text
    recorder = pipeline.recorder()
    # It waits for the recorder by itself.
    caught_up = pipeline.start(*asked, "--wait", "2m", "--json", database_url=database_url)
    assert caught_up.wait_for_end(timeout_s=180) == 0, caught_up.text
    assert json.loads(caught_up.text)["committed"] == 20
    eventually(
        lambda: verified(pipeline, since)["delivered"] == 20, what="20 delivered events", timeout_s=120
    )
    recorder.stop()


def test_the_command_lists_what_is_lost(pipeline: Pipeline) -> None:
    """Code 1, its id and its reason; the last line has the sum."""
    pipeline.worker()
    pipeline.recorder()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    since, event_id = database_now(pipeline), pipeline.append(f"{mailbox.event_type}.sold")
    wait_until_logged(pipeline, event_id, "succeeded")
    with pipeline.connect() as connection:
        connection.execute("delete from outbox.deliveries where event_id = %s", (event_id,))
    broken_since(pipeline, since)
    child = pipeline.start(
        "verify",
        "--since",
        since.isoformat(),
        "--until",
        "0s",
        database_url=pipeline.installation.database_url,
    )
    assert child.wait_for_end(timeout_s=150) == 1, child.text
    assert str(event_id) in child.text
    assert child.text.splitlines()[-1].endswith("= 1 unaccounted")


def test_what_cannot_be_asked_is_said_with_code_2(pipeline: Pipeline) -> None:
    """No Kafka, no such time: not the code of a loss."""
    url = pipeline.installation.database_url
    away = pipeline.start("verify", "--since", "1h", database_url=url, kafka_bootstrap_servers="127.0.0.1:9")
    future = pipeline.start("verify", "--since", "2100-01-01T00:00:00Z", database_url=url)
    unreadable = pipeline.start("verify", "--since", "yesterday", database_url=url)
    for child in (away, future, unreadable):
        assert child.wait_for_end(timeout_s=150) == 2, child.text
        assert "Traceback" not in child.text
    assert "There is no time from" in future.text
