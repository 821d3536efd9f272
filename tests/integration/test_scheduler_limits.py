"""What a scheduler must not do while it waits: leave its group, forget a lane, or take the backlog into its memory.

The scheduler runs in a thread here, so that its lanes can be looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer
from structlog.testing import capture_logs

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.topics import ChangeConfig
from streams import topics
from streams.delay import scheduler as scheduler_module
from streams.delay.lane import BUFFER_BYTES, BUFFER_RECORDS
from streams.delay.lanes import MAX_OUTSTANDING_BYTES
from streams.delay.scheduler import Scheduler
from streams.retry.tiers import Lane, RetryTiers
from streams.surroundings import SystemSurroundings
from tests.support.eventually import eventually
from tests.support.installation import TIERS
from tests.support.parked import LANES, discard_moves, now_ms, parked, wait_for_moves
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, produce

POLL_LIMIT_S = 6
RECORD_BYTES = 100_000
_BATCH = scheduler_module._BATCH


@pytest.fixture
def redelivery(pipeline: Pipeline) -> Iterator[TopicTail]:
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    yield tail
    tail.close()
    discard_moves(pipeline.kafka)


@contextmanager
def scheduling(pipeline: Pipeline) -> Iterator[Scheduler]:
    stop = threading.Event()
    scheduler = Scheduler(
        pipeline.kafka,
        tiers=RetryTiers(TIERS, lanes=6),
        session_timeout_s=POLL_LIMIT_S,
        commit_interval_s=0.25,
        clock=SystemSurroundings(),
    )
    thread = threading.Thread(target=scheduler.run, args=[stop.is_set], daemon=True)
    thread.start()
    try:
        yield scheduler
    finally:
        stop.set()
        thread.join()


def is_paused(scheduler: Scheduler, lane: Lane) -> bool:
    found = scheduler._lanes.get((lane.topic, lane.partition))
    return found is not None and found.paused


def test_a_wait_longer_than_the_poll_limit_costs_no_membership(
    pipeline: Pipeline, redelivery: TopicTail, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 27: Kafka's limit between two polls is cut to 6 s, and the only record is due after 9.

    The scheduler gets its lanes once, and moves the record from that very assignment.
    """

    def impatient(config: Mapping[str, Any]) -> Consumer:
        return Consumer({**config, "max.poll.interval.ms": POLL_LIMIT_S * 1000})

    monkeypatch.setattr(scheduler_module, "Consumer", impatient)
    due_at_ms = now_ms() + POLL_LIMIT_S * 1500
    record = parked(LANES[-1], due_at_ms=due_at_ms)
    produce(pipeline.kafka, [record])
    with capture_logs() as said, scheduling(pipeline):
        [[copy]] = wait_for_moves(redelivery, [record]).values()
    assert copy.appended_at_ms >= due_at_ms
    events = [line["event"] for line in said]
    assert events.count("lanes_assigned") == 1
    assert not {"read_failed", "commit_refused"} & set(events)


def test_a_paused_lane_is_read_on_after_a_rebalance(pipeline: Pipeline, redelivery: TopicTail) -> None:
    """CASES 26 (spring-kafka #2525): two lanes are full and paused when another joins the group, and leaves again.

    CASES 42: full, a lane holds its buffer and what one poll adds to it, whatever waits behind.
    """
    lanes = LANES[:2]
    due_at_ms = now_ms() + 8_000
    records = [parked(lane, due_at_ms=due_at_ms) for lane in lanes for _ in range(3 * BUFFER_RECORDS)]
    produce(pipeline.kafka, records)
    with scheduling(pipeline) as scheduler:
        eventually(lambda: all(is_paused(scheduler, lane) for lane in lanes), what="both lanes to be full")
        assert max(map(len, scheduler._lanes)) < BUFFER_RECORDS + _BATCH
        join_and_leave(pipeline)
        assert now_ms() < due_at_ms, "the rebalance came too late to show anything"
        moved = wait_for_moves(redelivery, records)
    assert {len(copies) for copies in moved.values()} == {1}


def join_and_leave(pipeline: Pipeline) -> None:
    """Be a member of the schedulers' group until it has shared its lanes out."""
    assigned: list[int] = []
    other = Consumer(
        {
            "bootstrap.servers": pipeline.kafka,
            "group.id": topics.SCHEDULER_GROUP,
            "enable.auto.commit": False,
            "partition.assignment.strategy": "roundrobin",
        }
    )
    other.subscribe(
        list(RetryTiers(TIERS, lanes=6).topics), on_assign=lambda _, given: assigned.append(len(given))
    )
    eventually(lambda: other.consume(1, 0.05) is not None and bool(assigned), what="the other's lanes")
    other.close()


@contextmanager
def refusing_large_records(pipeline: Pipeline) -> Iterator[None]:
    """`outbox.redelivery` takes no record of the test's size: a broker that is full would refuse like this."""
    admin = KafkaAdmin(pipeline.kafka)
    [before] = (
        admin.cluster(with_config_of=[topics.REDELIVERY]).topics[topics.REDELIVERY].config[name]
        for name in ("max.message.bytes",)
    )
    small = {"max.message.bytes": str(RECORD_BYTES // 2)}
    admin.apply([ChangeConfig(name=topics.REDELIVERY, before={}, after=small)])
    try:
        yield
    finally:
        admin.apply([ChangeConfig(name=topics.REDELIVERY, before={}, after={"max.message.bytes": before})])


def test_a_backlog_that_cannot_move_stays_on_kafka(pipeline: Pipeline, redelivery: TopicTail) -> None:
    """CASES 42: 100 MB are due, and Kafka takes none of it: not all of it comes to wait in the scheduler's memory.

    INV-1: when Kafka takes records again, each is moved.
    """
    lane = LANES[0]
    payload = b"x" * RECORD_BYTES
    records = [replace(parked(lane, due_at_ms=now_ms()), value=payload) for _ in range(1_000)]
    produce(pipeline.kafka, records)
    bound = MAX_OUTSTANDING_BYTES + BUFFER_BYTES + _BATCH * RECORD_BYTES
    with scheduling(pipeline) as scheduler:
        with refusing_large_records(pipeline):
            eventually(
                lambda: scheduler._lanes.room() <= 0 and is_paused(scheduler, lane),
                what="a scheduler that is full",
            )
            assert scheduler._producer.outstanding_bytes < bound < len(records) * RECORD_BYTES
        wait_for_moves(redelivery, records)
