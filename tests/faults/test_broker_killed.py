"""The only broker is killed with -9 and comes back some seconds later."""

from __future__ import annotations

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt, for_one_in_four, is_one_in_four
from tests.support.figures import note
from tests.support.gate import Gate
from tests.support.group import wait_until_settled
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail


def test_worker_and_scheduler_recover_by_themselves(pipeline: Pipeline) -> None:
    """CASES 32, 33: nobody restarts them. What was in flight, parked and appended meanwhile is delivered (INV-1).

    An attempt that is answered while the broker is away has its outcome recorded when it is back.
    """
    stack = pipeline.installation.stack
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    first_fails = attempt_by_attempt(respond(500), respond(204))
    flaky = pipeline.mailbox(for_one_in_four(first_fails, otherwise=respond(204)))
    held = pipeline.mailbox(gate.before(respond(204)))
    scheduler = pipeline.scheduler(connect_url=stack.settings.connect_url)
    worker = pipeline.worker(handler_max_attempts=3)
    held_ids = pipeline.append_many(held.event_type, 10)
    held.wait_for_events(held_ids)
    flaky_ids = pipeline.append_many(flaky.event_type, 300)
    flaky.wait_for(100)

    broker = stack.service("kafka")
    broker.kill()
    gate.open()
    meanwhile = pipeline.append_many(flaky.event_type, 20)
    broker.start()
    broker.wait_ready()
    after = pipeline.append_many(flaky.event_type, 20)

    ids = [*held_ids, *flaky_ids, *meanwhile, *after]
    pipeline.attempts.wait_until(lambda log: not log.parked(ids), what="delivery of all", timeout_s=120)
    assert pipeline.attempts.having(ids, "succeeded") == {str(event_id) for event_id in ids}
    wait_until_settled(pipeline.kafka, events.wait_for_events(ids))
    repeats = len(flaky.ids) + len(held.ids) - len(ids) - sum(is_one_in_four(str(one)) for one in flaky_ids)
    note(f"broker killed -9 with {len(ids)} events on their way: {repeats} requests more than needed")
    assert worker.stop() == 0
    assert scheduler.stop() == 0


def test_a_worker_that_starts_without_a_broker_waits_for_it(pipeline: Pipeline) -> None:
    """CASES 33: one that ended instead would be restarted with longer and longer pauses, and be away for minutes."""
    broker = pipeline.installation.stack.service("kafka")
    mailbox = pipeline.mailbox()
    event_id = pipeline.append(mailbox.event_type)
    broker.kill()
    worker = pipeline.start("worker")
    worker.wait_for("waiting_for_kafka")
    broker.start()
    broker.wait_ready()
    mailbox.wait_for_events([event_id])
    assert len(worker.of("worker_started")) == 1
    assert worker.stop() == 0
