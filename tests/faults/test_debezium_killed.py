"""Kafka Connect, and Debezium in it, is killed with -9 in the middle of a batch, while worker and scheduler run."""

from __future__ import annotations

from collections import Counter

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt, for_one_in_four, is_one_in_four
from tests.support.figures import note
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail

ROWS = 1_200


def test_the_webhook_id_is_the_rows_id_over_a_restart(pipeline: Pipeline) -> None:
    """INV-4, CASES 13: whatever Debezium repeats, it repeats under the row's id, and so does each retry.

    INV-1, CASES 37: of rows that one statement inserted, and of those that come meanwhile, none is missing.
    """
    connect = pipeline.installation.stack.service("connect")
    events = TopicTail(pipeline.kafka, "outbox.events")
    flaky = attempt_by_attempt(respond(500), respond(204))
    mailbox = pipeline.mailbox(for_one_in_four(flaky, otherwise=respond(204)))
    pipeline.scheduler()
    pipeline.worker()
    ids = pipeline.append_many(mailbox.event_type, ROWS)
    events.wait_until(lambda records: len(records) >= ROWS // 4, what="first quarter")
    connect.kill()
    killed_at = len(events.to_the_end())
    ids += pipeline.append_many(mailbox.event_type, 50)
    connect.start()
    connect.wait_ready()

    events.wait_for_events(ids)
    pipeline.attempts.wait_until(lambda log: not log.parked(ids), what="delivery of all", timeout_s=90)
    requests = Counter(mailbox.ids)
    assert set(requests) == {str(event_id) for event_id in ids}
    attempts = {str(event_id): 1 + is_one_in_four(str(event_id)) for event_id in ids}
    assert all(requests[event_id] >= least for event_id, least in attempts.items())
    note(
        f"Debezium killed -9 at {killed_at} of {len(ids)} rows: {len(events.records) - len(ids)} repeated on Kafka, "
        f"{len(mailbox.ids) - sum(attempts.values())} at the receiver"
    )
