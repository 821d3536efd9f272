"""What lanes ask for when there is little to move: enough to be sure that they are ours, and few rounds."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit
from streams.delay.lane import Waiting
from streams.delay.lanes import Lanes
from streams.retry.tiers import RetryTiers
from tests.support.manual_surroundings import ManualSurroundings

TIERS = RetryTiers([timedelta(seconds=1)], lanes=6)


class Unused:
    """A producer that is not asked to send anything."""

    outstanding = 0
    outstanding_bytes = 0

    def send(self, record: OutgoingRecord, on_acked: Callable[[], None]) -> None:
        raise AssertionError(record, on_acked)


def the_lanes(clock: ManualSurroundings) -> Lanes:
    lanes = Lanes(
        tiers=TIERS,
        producer=Unused(),
        clock=clock,
        session_timeout_s=6.0,
        commit_interval_s=0.25,
    )
    lanes.assign({(lane.topic, lane.partition): Commit(7, "") for lane in TIERS.lanes})
    return lanes


def renew(lanes: Lanes) -> None:
    lanes.lease.asked("again")
    lanes.lease.answered("again", accepted=True)


def due_in(milliseconds: int, *, of: ManualSurroundings) -> Waiting:
    return Waiting(offset=7, due_at_ms=of.clock_ms() + milliseconds, key=None, value=b"{}", headers={})


@pytest.mark.parametrize(
    ("due_in_ms", "waits_s"), [(-5, 0.0), (0, 0.0), (1, 0.05), (49, 0.05), (70, 0.07), (500, 0.1)]
)
def test_what_is_due_soon_moves_together(due_in_ms: int, waits_s: float) -> None:
    """INV-3, INV-6: never early, a little late; a worker fetches them in one go. What is due moves now."""
    clock = ManualSurroundings()
    lanes = the_lanes(clock)
    renew(lanes)
    lane = TIERS.lanes[0]
    lanes.put((lane.topic, lane.partition), due_in(due_in_ms, of=clock))
    assert lanes.poll_s() == waits_s


def test_idle_lanes_commit_one_offset_at_a_time() -> None:
    """A scheduler without work writes one commit every sixth of a session, however many lanes it has."""
    clock = ManualSurroundings()
    lanes = the_lanes(clock)
    asked = []
    for _ in range(600):
        clock.pass_s(0.1)
        commits = lanes.commits_due()
        if commits:
            asked.append(len(commits))
            lanes.committed(commits)
            renew(lanes)
        assert lanes.lease.held()
    assert set(asked) == {1}
    assert 50 <= len(asked) <= 61
