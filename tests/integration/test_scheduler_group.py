"""Several schedulers on real Kafka: they share the lanes, and come, go, die and freeze."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams import topics
from streams.delay.lane import BUFFER_RECORDS
from tests.support.eventually import eventually
from tests.support.figures import note
from tests.support.group import lanes_of
from tests.support.parked import LANES, discard_moves, event_id_of, now_ms, parked, wait_for_moves
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, produce

TAKEN_OVER_WITHIN_MS = 15_000


@pytest.fixture
def redelivery(pipeline: Pipeline) -> Iterator[TopicTail]:
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    yield tail
    tail.close()
    discard_moves(pipeline.kafka)


def test_a_long_lane_survives_rebalances(pipeline: Pipeline, redelivery: TopicTail) -> None:
    """CASES 26, 28: a lane with more than fits into the buffer is paused; paused, it goes to another scheduler.

    Every record is moved, none early (INV-3), none twice (INV-8): one scheduler, two, one again, and each
    stop exits with 0.
    """
    count = 2 * BUFFER_RECORDS + 500
    first = pipeline.scheduler()
    due_at_ms = now_ms() + 5_000
    records = [parked(lane, due_at_ms=due_at_ms) for lane in LANES[:2] for _ in range(count)]
    produce(pipeline.kafka, records)
    second = pipeline.scheduler()
    eventually(lambda: lanes_of([first, second]) == [9, 9], what="nine lanes each")
    moved = wait_for_moves(redelivery, records)
    assert min(copies[0].appended_at_ms for copies in moved.values()) >= due_at_ms

    more = [parked(lane, due_at_ms=now_ms() + 2_000) for lane in LANES[:2] for _ in range(count)]
    produce(pipeline.kafka, more)
    assert first.stop() == 0
    eventually(lambda: lanes_of([second]) == [18], what="all lanes at the second")
    moved |= wait_for_moves(redelivery, more)
    assert second.stop() == 0
    assert {len(copies) for copies in moved.values()} == {1}


def test_lanes_of_a_killed_scheduler_are_taken_over(pipeline: Pipeline, redelivery: TopicTail) -> None:
    """INV-1, INV-3: within 15 s its records are moved by the other; none early, none lost. Repeats are printed."""
    schedulers = [pipeline.scheduler(), pipeline.scheduler()]
    eventually(lambda: lanes_of(schedulers) == [9, 9], what="nine lanes each")
    start_ms = now_ms()
    due = [(lane, start_ms + number * 20) for number in range(150) for lane in LANES]
    records = [parked(lane, due_at_ms=due_at_ms) for lane, due_at_ms in due]
    produce(pipeline.kafka, records)
    redelivery.wait_for_events([event_id_of(record) for record in records[: len(records) // 4]])
    schedulers[0].kill()
    killed_at_ms = now_ms()
    moved = wait_for_moves(redelivery, records)
    late_ms = [
        moved[event_id_of(record)][0].appended_at_ms - max(due_at_ms, killed_at_ms)
        for record, (_, due_at_ms) in zip(records, due, strict=True)
    ]
    early = [
        event_id_of(record)
        for record, (_, due_at_ms) in zip(records, due, strict=True)
        if moved[event_id_of(record)][0].appended_at_ms < due_at_ms
    ]
    repeated = sum(len(copies) - 1 for copies in moved.values())
    note(
        f"scheduler killed -9: its lanes were moved on after {max(late_ms) / 1000:.1f} s, {repeated} of {len(records)}"
        " records repeated"
    )
    assert not early
    assert max(late_ms) < TAKEN_OVER_WITHIN_MS
    assert schedulers[1].stop() == 0


def test_a_frozen_scheduler_moves_nothing_late(pipeline: Pipeline, redelivery: TopicTail) -> None:
    """INV-8: one that wakes up when its lanes are somebody else's moves nothing again; then it shares the work."""
    schedulers = [pipeline.scheduler(), pipeline.scheduler()]
    eventually(lambda: lanes_of(schedulers) == [9, 9], what="nine lanes each")
    at_once = [parked(lane, due_at_ms=0) for lane in LANES]
    records = [parked(lane, due_at_ms=now_ms() + 8_000) for lane in LANES for _ in range(200)]
    produce(pipeline.kafka, [*at_once, *records])
    wait_for_moves(redelivery, at_once)  # so the records behind them are read as well
    schedulers[0].freeze()
    wait_for_moves(redelivery, records)
    schedulers[0].thaw()
    schedulers[0].wait_for("lanes_assigned", count=3)
    last = [parked(lane, due_at_ms=0) for lane in LANES]
    produce(pipeline.kafka, last)
    wait_for_moves(redelivery, last)
    moved = wait_for_moves(redelivery, records)
    repeated = sum(len(copies) - 1 for copies in moved.values())
    note(f"scheduler frozen and thawed: {repeated} of {len(records)} records repeated")
    assert repeated == 0
