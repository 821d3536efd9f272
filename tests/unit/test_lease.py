"""The lease: an attempt may begin only while the group surely counts this worker as a member."""

from hypothesis import given
from hypothesis import strategies as st

from streams.commit.lease import Lease
from tests.support.manual_surroundings import ManualSurroundings

SESSION_S = 6.0


def a_lease() -> tuple[Lease, ManualSurroundings]:
    around = ManualSurroundings()
    return Lease(session_s=SESSION_S, monotonic_s=around.monotonic_s), around


def test_nothing_is_held_before_the_first_answer() -> None:
    """CASES 25: no attempt begins before the group has taken the worker in."""
    lease, _ = a_lease()
    assert not lease.held()


def test_it_is_held_for_a_session_from_when_the_heartbeat_was_sent() -> None:
    """CASES 25: the broker counts from when it heard the heartbeat, which is after it was sent, not from its answer."""
    lease, around = a_lease()
    asked_at_s = lease.now_s()
    around.pass_s(2)
    lease.renew(asked_at_s=asked_at_s)
    around.pass_s(3.9)
    assert lease.held()
    around.pass_s(0.2)
    assert not lease.held()


@given(steps=st.lists(st.tuples(st.floats(0, 4), st.floats(0, 4), st.booleans()), max_size=30))
def test_it_is_never_held_longer_than_the_broker_waits(steps: list[tuple[float, float, bool]]) -> None:
    """CASES 25: for any heartbeats, slow or lost: held means that one was sent within the last session timeout."""
    lease, around = a_lease()
    last_answered_s = -SESSION_S
    for pause_s, round_trip_s, answered in steps:
        around.pass_s(pause_s)
        assert not lease.held() or around.monotonic_s() < last_answered_s + SESSION_S
        asked_at_s = lease.now_s()
        around.pass_s(round_trip_s)
        if answered:
            lease.renew(asked_at_s=asked_at_s)
            last_answered_s = asked_at_s
        assert lease.held() == (around.monotonic_s() < last_answered_s + SESSION_S)
