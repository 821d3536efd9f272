"""What a scheduler must not do while it waits: leave its group, or take the backlog into its memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from structlog.testing import capture_logs

from streams import topics
from streams.delay import scheduler as scheduler_module
from streams.delay.scheduler import Scheduler
from streams.retry.tiers import Lane, RetryTiers
from streams.surroundings import SystemSurroundings
from tests.support.eventually import eventually
from tests.support.figures import note
from tests.support.installation import TIERS
from tests.support.parked import LANES, discard_moves, now_ms, parked, wait_for_moves
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, committed, produce

POLL_LIMIT_S = 6
BACKLOG = 4_000
RECORD_BYTES = 100_000


def test_a_wait_longer_than_the_poll_limit_costs_no_membership(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 27: Kafka's limit between two polls is cut to 6 s, and the only record is due after 9.

    The scheduler gets its lanes once, and moves the record from that very assignment.
    """

    def impatient(config: Mapping[str, Any]) -> Consumer:
        return Consumer({**config, "max.poll.interval.ms": POLL_LIMIT_S * 1000})

    monkeypatch.setattr(scheduler_module, "Consumer", impatient)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    due_at_ms = now_ms() + POLL_LIMIT_S * 1500
    record = parked(LANES[-1], due_at_ms=due_at_ms)
    produce(pipeline.kafka, [record])
    stop = threading.Event()
    scheduler = Scheduler(
        pipeline.kafka,
        tiers=RetryTiers(TIERS, lanes=6),
        session_timeout_s=POLL_LIMIT_S,
        commit_interval_s=0.25,
        clock=SystemSurroundings(),
    )
    thread = threading.Thread(target=scheduler.run, args=[stop.is_set], daemon=True)
    with capture_logs() as said:
        thread.start()
        [[copy]] = wait_for_moves(tail, [record]).values()
        stop.set()
        thread.join()
    assert copy.appended_at_ms >= due_at_ms
    events = [line["event"] for line in said]
    assert events.count("lanes_assigned") == 1
    assert not {"read_failed", "lanes_left", "commit_refused"} & set(events)
    tail.close()
    discard_moves(pipeline.kafka)


def test_memory_does_not_grow_with_the_backlog(pipeline: Pipeline) -> None:
    """CASES 42: 400 MB wait in one lane; at no moment are they in the scheduler's memory, nor on its way to Kafka."""
    lane = LANES[0]
    payload = b"x" * RECORD_BYTES
    due_at_ms = now_ms() + 6_000
    for _ in range(10):
        produce(
            pipeline.kafka,
            [replace(parked(lane, due_at_ms=due_at_ms), value=payload) for _ in range(BACKLOG // 10)],
        )
    end = TopicTail(pipeline.kafka, lane.topic)._next[lane.partition]
    scheduler = pipeline.scheduler()
    before_mb = peak_mb(scheduler.pid)
    eventually(lambda: committed_offset(pipeline, lane) >= end, what="the move of everything", timeout_s=60)
    grown_mb = peak_mb(scheduler.pid) - before_mb
    note(f"scheduler, {BACKLOG * RECORD_BYTES / 1e6:.0f} MB in a lane: at most {grown_mb:.0f} MB more memory")
    assert grown_mb < BACKLOG * RECORD_BYTES / 1e6 / 2
    assert scheduler.stop() == 0
    discard_moves(pipeline.kafka)


def committed_offset(pipeline: Pipeline, lane: Lane) -> int:
    found = committed(pipeline.kafka, topics.SCHEDULER_GROUP).get((lane.topic, lane.partition))
    return found.offset if found else 0


def peak_mb(pid: int) -> float:
    """The most memory that a process has had at once, as Linux counts it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
