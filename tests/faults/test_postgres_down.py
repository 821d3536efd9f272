"""Postgres is killed, and stays down while deliveries go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from devstack.service import ServiceName
from devstack.stack import EmbeddedStack
from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail


@contextmanager
def without(stack: EmbeddedStack, name: ServiceName) -> Iterator[None]:
    """The service is dead in the block, and answers again after it."""
    service = stack.service(name)
    service.kill()
    try:
        yield
    finally:
        service.start()
        service.wait_ready()


def test_workers_need_kafka_only(pipeline: Pipeline) -> None:
    """INV-10: with Postgres dead, retries come due and are delivered, and a worker that starts knows its endpoints.

    When Postgres is back, events flow again, without anybody's help (CASES 33).
    """
    stack = pipeline.installation.stack
    events = TopicTail(pipeline.kafka, "outbox.events")
    mailbox = pipeline.mailbox(attempt_by_attempt(respond(500), respond(204)))
    scheduler = pipeline.scheduler(connect_url=stack.settings.connect_url)
    worker = pipeline.worker()
    scheduler.freeze()
    parked = pipeline.append_many(mailbox.event_type, 20)
    pipeline.attempts.wait_until(
        lambda log: all(log.of(event_id) for event_id in parked), what="first attempts"
    )
    assert worker.stop() == 0
    waiting = pipeline.append_many(mailbox.event_type, 20)
    events.wait_for_events(waiting)

    with without(stack, "postgres"):
        scheduler.thaw()
        worker = pipeline.worker()
        pipeline.attempts.wait_until(
            lambda log: not log.parked([*parked, *waiting]), what="delivery of all, without Postgres"
        )
        assert stack.service("postgres").pid is None
    assert pipeline.attempts.having([*parked, *waiting], "succeeded") == {
        str(event_id) for event_id in (*parked, *waiting)
    }

    after = pipeline.append_many(mailbox.event_type, 20)
    mailbox.wait_for_events(after, timeout_s=90)
    assert worker.is_running
    assert scheduler.is_running
