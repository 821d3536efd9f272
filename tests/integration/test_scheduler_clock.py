"""A real scheduler whose wall clock jumps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams import topics
from tests.support.child import Child
from tests.support.installation import Installation
from tests.support.parked import LANES, discard_moves, event_id_of, now_ms, parked, wait_for_moves
from tests.support.stepped_clock import ClockStep, stepped_clock_module
from tests.support.topics import TopicTail, produce

MINUTE_S = 60
PER_LANE = 5


@pytest.fixture
def step(tmp_path: Path) -> ClockStep:
    return ClockStep(tmp_path / "step")


@pytest.fixture
def scheduler(installation: Installation, step: ClockStep) -> Iterator[Child]:
    with Child(
        "scheduler",
        environment=installation.worker_environment,
        log=installation.logs / "stepped-scheduler.log",
        module=stepped_clock_module(step.path),
    ) as child:
        child.wait_for("lanes_assigned")
        yield child
        child.stop()
    discard_moves(installation.kafka)


@pytest.fixture
def redelivery(installation: Installation) -> Iterator[TopicTail]:
    tail = TopicTail(installation.kafka, topics.REDELIVERY)
    yield tail
    tail.close()


def test_a_stepped_clock_makes_no_retry_early_and_holds_none_back(
    installation: Installation, scheduler: Child, step: ClockStep, redelivery: TopicTail
) -> None:
    """INV-3: a minute ahead or back, records are moved when they are due, by the broker's time; the step is told."""
    for number, seconds in enumerate((MINUTE_S, -MINUTE_S), start=1):
        step.set(seconds)
        told = scheduler.wait_for("clock_stepped", count=number)
        assert told["by_s"] == pytest.approx(seconds, abs=0.1)
        start_ms = now_ms()
        due = [(lane, start_ms + lane.hold_ms + index) for index in range(PER_LANE) for lane in LANES]
        records = [parked(lane, due_at_ms=due_at_ms) for lane, due_at_ms in due]
        produce(installation.kafka, records)
        moved = wait_for_moves(redelivery, records)  # waits for less than a minute
        for record, (_, due_at_ms) in zip(records, due, strict=True):
            [copy] = moved[event_id_of(record)]
            assert copy.appended_at_ms >= due_at_ms
    step.set(0)
    assert scheduler.wait_for("clock_returned")["by_s"] == pytest.approx(-MINUTE_S, abs=0.1)
    assert not scheduler.of("clock_followed")
