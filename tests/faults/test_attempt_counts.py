"""Worker and scheduler are killed with -9 while deliveries are at different points of their way."""

from __future__ import annotations

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.gate import Gate
from tests.support.group import wait_until_settled
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail

CONFIGURED = 3  # attempts, by an endpoint schedule of two waits


def test_attempt_counts_survive_crashes(pipeline: Pipeline) -> None:
    """INV-7, CASES 4, 5: N attempts configured are exactly N on record, whatever is killed meanwhile.

    Ten events are parked after their first attempt, ten are in the middle of their second, when worker and
    scheduler are killed. The ten unanswered attempts are made again under the same number; nothing else is.
    """
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    parked = pipeline.mailbox(respond(500))
    in_flight = pipeline.mailbox(attempt_by_attempt(respond(500), gate.before(respond(500)), respond(500)))
    scheduler = pipeline.scheduler()
    worker = pipeline.worker(endpoint_schedule="1s,1s")
    second_ids = pipeline.append_many(in_flight.event_type, 10)
    in_flight.wait_for(20)
    scheduler.freeze()
    first_ids = pipeline.append_many(parked.event_type, 10)
    pipeline.attempts.wait_until(
        lambda log: all(log.of(event_id) for event_id in first_ids), what="first attempts"
    )
    wait_until_settled(pipeline.kafka, events.wait_for_events(first_ids))
    scheduler.kill()
    worker.kill()

    pipeline.start("scheduler")
    pipeline.worker(endpoint_schedule="1s,1s")
    all_ids = [*first_ids, *second_ids]
    pipeline.attempts.wait_until(lambda log: not log.parked(all_ids), what="end of all deliveries")
    gate.open()
    pipeline.attempts.to_the_end()
    for event_id in all_ids:
        assert [turn["attempt"] for turn in pipeline.attempts.of(event_id)] == [1, 2, 3]
    assert len(parked.received) == 10 * CONFIGURED
    assert len(in_flight.received) == 10 * (CONFIGURED + 1)
    letters = {letter.event_id: letter for letter in pipeline.dead_letters.to_the_end()}
    for event_id in all_ids:
        headers = letters[str(event_id)].headers
        assert (headers["outbox-error-code"], headers["outbox-attempt"]) == (
            "ENDPOINT_EXHAUSTED",
            str(CONFIGURED),
        )
