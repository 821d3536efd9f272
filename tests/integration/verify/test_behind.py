"""Where the log is behind, nothing is said: a distinct exit code, and never an alarm."""

from __future__ import annotations

from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.verifying import database_now, verified


def test_a_recorder_that_is_behind_is_no_loss(pipeline: Pipeline) -> None:
    """Code 2, and why; once it has caught up, 0."""
    pipeline.worker()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    since = database_now(pipeline)
    events = pipeline.append_many(f"{mailbox.event_type}.sold", 20)
    mailbox.wait_for_events(events)
    database_url = pipeline.installation.database_url
    behind = pipeline.start(
        "verify", "--since", since, "--until", "0s", "--wait", "1s", database_url=database_url
    )
    assert behind.wait_for_end(timeout_s=150) == 2, behind.text
    assert "The recorder has" in behind.text
    assert "Traceback" not in behind.text
    recorder = pipeline.recorder()
    # It waits for the recorder by itself.
    assert verified(pipeline, since, "--wait", "2m")["unaccounted"] == 0
    eventually(lambda: verified(pipeline, since)["delivered"] == 20, what="20 delivered events", timeout_s=60)
    recorder.stop()


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
