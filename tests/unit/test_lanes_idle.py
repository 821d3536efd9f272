"""What lanes ask for when there is nothing to move: enough to be sure that they are ours, and no more."""

from datetime import timedelta

from streams.commit.ledger import Commit
from streams.delay.lanes import Lanes
from streams.retry.tiers import RetryTiers
from tests.support.fake_producer import FakeProducer
from tests.support.manual_surroundings import ManualSurroundings

TIERS = RetryTiers([timedelta(seconds=1)], lanes=6)


def test_idle_lanes_commit_one_offset_at_a_time() -> None:
    """A scheduler without work writes one commit every sixth of a session, however many lanes it has."""
    clock = ManualSurroundings()
    lanes = Lanes(
        tiers=TIERS,
        producer=FakeProducer(),  # type: ignore[arg-type]  # nothing is sent
        clock=clock,
        session_timeout_s=6.0,
        commit_interval_s=0.25,
    )
    lanes.assign({(lane.topic, lane.partition): Commit(7, "") for lane in TIERS.lanes})
    asked = []
    for _ in range(600):
        clock.pass_s(0.1)
        commits = lanes.commits_due()
        if commits:
            asked.append(len(commits))
            lanes.committed(commits)
            lanes.lease.asked("again")
            lanes.lease.answered("again", accepted=True)
        assert lanes.lease.held()
    assert set(asked) == {1}
    assert 50 <= len(asked) <= 61
