"""The scheduler's lease: an accepted commit, for half a session from when it was sent."""

import pytest

from streams.delay.lane_lease import LaneLease
from tests.support.manual_surroundings import ManualSurroundings

SESSION_S = 6.0


@pytest.fixture
def clock() -> ManualSurroundings:
    return ManualSurroundings()


@pytest.fixture
def lease(clock: ManualSurroundings) -> LaneLease:
    return LaneLease(session_s=SESSION_S, monotonic_s=clock.monotonic_s)


def test_it_lasts_from_the_question_not_from_the_answer(lease: LaneLease, clock: ManualSurroundings) -> None:
    """INV-8: the group may have counted its session from the moment at which it was asked."""
    lease.asked("a")
    clock.pass_s(2.0)
    assert not lease.held()
    lease.answered("a", accepted=True)
    assert lease.held()
    clock.pass_s(1.0)
    assert not lease.held()


def test_a_refusal_gives_nothing_and_is_asked_again_at_once(
    lease: LaneLease, clock: ManualSurroundings
) -> None:
    lease.asked("a")
    assert lease.must_wait()
    clock.pass_s(0.1)
    lease.answered("a", accepted=False)
    assert not lease.held()
    assert lease.must_ask()
    assert not lease.must_wait()


def test_an_answer_of_before_an_assignment_says_nothing_of_the_lanes_after_it(lease: LaneLease) -> None:
    """Answers come late; each belongs to the question that said the same."""
    lease.asked("a")
    lease.begin()
    lease.asked("b")
    lease.answered("a", accepted=True)
    assert not lease.held()
    lease.answered("b", accepted=True)
    assert lease.held()


def test_it_is_renewed_before_it_ends(lease: LaneLease, clock: ManualSurroundings) -> None:
    """One that is asked again in time is held without a gap."""
    lease.asked("a")
    lease.answered("a", accepted=True)
    for _ in range(100):
        clock.pass_s(0.05)
        if lease.must_ask():
            lease.asked("a")
            lease.answered("a", accepted=True)
        assert lease.held()


def test_an_answer_that_never_comes_is_not_awaited_for_ever(
    lease: LaneLease, clock: ManualSurroundings
) -> None:
    lease.asked("a")
    clock.pass_s(SESSION_S)
    assert not lease.must_wait()
    assert lease.must_ask()
    lease.asked("b")
    assert lease.must_wait()
    lease.answered("b", accepted=True)
    assert lease.held()


def test_a_lost_answer_to_what_is_asked_again_costs_one_round(
    lease: LaneLease, clock: ManualSurroundings
) -> None:
    """It can't be told from a late one, so the answer counts from when it was asked first; the next one is fresh."""
    lease.asked("a")
    clock.pass_s(SESSION_S)
    lease.asked("a")
    lease.answered("a", accepted=True)
    assert not lease.held()
    clock.pass_s(SESSION_S)
    lease.asked("a")
    lease.answered("a", accepted=True)
    assert lease.held()


def test_an_answer_to_no_question_is_nothing(lease: LaneLease) -> None:
    lease.answered("a", accepted=True)
    assert not lease.held()
