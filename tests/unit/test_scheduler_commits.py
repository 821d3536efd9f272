"""The scheduler's commits, where Kafka doesn't take one: what the model of the scheduler found, step by step."""

from collections.abc import Iterator

import pytest

from tests.unit.model.test_scheduler_model import BATCH, OUTSTANDING, PARTITIONS, SESSION_S, SchedulerMachine


@pytest.fixture
def schedulers() -> Iterator[SchedulerMachine]:
    """One scheduler with all lanes, in memory. A record of each lane was moved, and nothing of it is committed."""
    machine = SchedulerMachine()
    machine.begin()
    for partition in PARTITIONS:
        machine.park(partition, 1, wait_ms=0, laps_ms=0, hole=0, garbled=None)
    for _ in range(3):
        machine.everybody_works(0.06, BATCH, 0, OUTSTANDING, "arrives")
    assert not machine.log.skipped()
    assert machine.log.sources() == machine.log.moved_sources()
    yield machine
    machine.teardown()


def test_a_commit_that_failed_unheard_is_made_again_at_a_hand_over(schedulers: SchedulerMachine) -> None:
    """INV-8: its failure would be heard in the next poll, and there is none any more: the lanes go to another."""
    schedulers.everybody_works(0.3, 1, 0, OUTSTANDING, "lost")
    schedulers.leave(which=0, how="stop", fate="arrives", arrived=set())
    assert schedulers.log.skipped() == schedulers.log.sources()


@pytest.mark.parametrize("passed_s", [0.3, SESSION_S / 2], ids=["in passing", "after a standstill"])
def test_a_commit_that_is_refused_for_some_lanes_is_made_again(
    schedulers: SchedulerMachine, passed_s: float
) -> None:
    """INV-8: Kafka answers for each partition of a commit, and all that is well says so of each."""
    schedulers.everybody_works(passed_s, 1, 0, OUTSTANDING, "in part")
    schedulers.everybody_works(0.3, 1, 0, OUTSTANDING, "arrives")
    schedulers.everybody_works(0.3, 1, 0, OUTSTANDING, "arrives")
    assert schedulers.log.skipped() == schedulers.log.sources()
