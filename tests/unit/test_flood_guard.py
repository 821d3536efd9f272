"""The flood guard: much that dies at once, at most of the targets, and nothing less (CASES 35)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.flood_guard import Flood, FloodGuard
from streams.records.target import TargetName

A, B, C, D = (TargetName("endpoint", f"ep_{name}") for name in "abcd")
WINDOW_S = 60.0


class Watched:
    """A guard of four targets, and what it told."""

    def __init__(
        self, *, share: float = 0.5, known: Callable[[], int] = lambda: 4, longest_wait_s: float = 0.0
    ) -> None:
        self.told: list[Flood] = []
        self.guard = FloodGuard(
            share=share,
            window_s=WINDOW_S,
            longest_wait_s=longest_wait_s,
            known_targets=known,
            on_change=self.told.append,
        )

    def turns(self, target: TargetName, number: int, *, died: bool | None, now_s: float = 0.0) -> None:
        for _ in range(number):
            self.guard.turned(target, died=died, now_s=now_s)

    @property
    def states(self) -> list[bool]:
        return [flood.open for flood in self.told]


def test_it_opens_when_most_dies_at_most_targets() -> None:
    """CASES 35: with the fiftieth that would die, it says what it saw."""
    watched = Watched()
    watched.turns(A, 25, died=True)
    watched.turns(B, 24, died=True)
    assert not watched.guard.open
    watched.turns(B, 1, died=True)
    assert watched.told == [Flood(open=True, died=50, delivered=0, dying_targets=2, targets=2)]


def test_one_target_of_several_never_opens_it() -> None:
    """A customer's endpoint that refuses everything is the customer's matter, whatever its part of the traffic."""
    watched = Watched()
    watched.turns(A, 10_000, died=True)
    assert not watched.guard.open
    watched.turns(B, 1, died=False)
    watched.turns(A, 10_000, died=True)
    assert not watched.guard.open


def test_the_only_target_there_is_opens_it() -> None:
    """What it refuses is everything."""
    watched = Watched(known=lambda: 1)
    watched.turns(A, 50, died=True)
    assert watched.guard.open


def test_two_broken_ones_beside_two_that_work_do_not_open_it() -> None:
    """Most of the traffic dies, at half of the targets: more than the share of both is needed."""
    watched = Watched()
    for target in (A, B):
        watched.turns(target, 1_000, died=True)
    assert watched.states == [True]
    watched = Watched()
    watched.turns(C, 1, died=False)
    watched.turns(D, 1, died=None)  # in an outage all of its deliveries are tried again
    for target in (A, B):
        watched.turns(target, 1_000, died=True)
    assert watched.states == []


def test_many_that_lose_a_little_do_not_open_it() -> None:
    watched = Watched()
    for second in range(50):
        for target in (A, B, C, D):
            watched.turns(target, 1, died=True, now_s=float(second))
            watched.turns(target, 1, died=False, now_s=float(second))
    assert watched.states == []


def test_a_share_of_one_never_opens_it() -> None:
    watched = Watched(share=1.0)
    for target in (A, B, C, D):
        watched.turns(target, 1_000, died=True)
    assert watched.states == []


def test_what_is_older_than_the_window_counts_no_more() -> None:
    """Forty-nine now and forty-nine in two minutes are no flood."""
    watched = Watched()
    for now_s in (0.0, 120.0, 240.0):
        watched.turns(A, 25, died=True, now_s=now_s)
        watched.turns(B, 24, died=True, now_s=now_s)
    assert watched.states == []


def test_silence_does_not_close_it_and_health_does() -> None:
    """While nothing ends, nobody knows: what comes back and dies again is held again, one by one."""
    watched = Watched()
    for target in (A, B):
        watched.turns(target, 50, died=True)
    watched.turns(A, 1, died=True, now_s=1_000.0)
    assert watched.guard.open
    watched.turns(A, 30, died=False, now_s=1_001.0)
    assert watched.states == [True, False]


def test_it_closes_when_something_was_delivered_and_nothing_died() -> None:
    """After a quiet night a single delivery is enough."""
    watched = Watched()
    for target in (A, B):
        watched.turns(target, 50, died=True)
    watched.turns(B, 1, died=None, now_s=1_000.0)
    assert watched.guard.open
    watched.turns(B, 1, died=False, now_s=1_001.0)
    assert not watched.guard.open


def test_it_does_not_flutter_about_the_share() -> None:
    """It opens above one half, and closes below one quarter."""
    watched = Watched()
    for second in range(600):
        for target in (A, B):
            watched.turns(target, 2, died=True, now_s=float(second))
            watched.turns(target, 2 - second % 2, died=False, now_s=float(second))
    assert watched.states == [True]


def test_what_is_held_comes_back_seldom_and_is_not_outvoted() -> None:
    """Three of four are down for hours, and what is held there comes back every quarter of an hour."""
    watched = Watched(longest_wait_s=900.0)
    for target in (A, B, C):
        watched.turns(target, 50, died=True)
    for second in range(0, 7_200, 10):
        if second % 800 == 0:
            for target in (A, B, C):
                watched.turns(target, 1, died=True, now_s=float(second))
        watched.turns(D, 5, died=False, now_s=float(second))
    assert watched.states == [True]

    watched.turns(A, 1, died=False, now_s=7_200.0)  # they are up again
    watched.turns(B, 1, died=False, now_s=7_200.0)
    watched.turns(C, 1, died=False, now_s=7_200.0)
    assert watched.states == [True, False]


def test_two_that_only_refuse_do_not_keep_it_open_when_the_others_wake() -> None:
    """At night they were two of three; by day they are two of many. Nor do any that are heard of no more."""
    watched = Watched(longest_wait_s=900.0)
    for target in (A, B):
        watched.turns(target, 50, died=True)
    for number in range(20):
        watched.turns(TargetName("endpoint", f"ep_{number}"), 20, died=False, now_s=100.0)
    assert watched.states == [True, False]

    watched = Watched(longest_wait_s=900.0)
    for target in (A, B):
        watched.turns(target, 50, died=True)
    watched.turns(D, 5, died=False, now_s=950.0)
    assert watched.guard.open
    watched.turns(D, 5, died=False, now_s=970.0)
    assert watched.states == [True, False]


def test_a_guard_that_was_never_open_is_unsure_while_it_sees_mostly_deaths() -> None:
    """A restart forgets the window. Once it was open itself it knows, and where it is turned off it never holds."""
    watched, seen = Watched(), []
    for died in (None, True, False, False, False, False):
        watched.turns(B if died is False else A, 1, died=died)
        seen.append(watched.guard.unsure)
    assert seen == [False, True, True, True, False, False]

    for target in (A, B):
        watched.turns(target, 50, died=True)
    watched.turns(B, 1, died=False, now_s=1_000.0)
    watched.turns(A, 5, died=True, now_s=1_000.0)
    assert watched.states == [True, False]
    assert not watched.guard.unsure

    off = Watched(share=1.0)
    off.turns(A, 10, died=True)
    assert not off.guard.unsure


turns = st.lists(
    st.tuples(
        st.sampled_from([A, B, C, D]),
        st.sampled_from([True, True, False, None]),
        st.floats(0.0, 30.0),
        st.integers(1, 40),
    ),
    max_size=60,
)


@given(turns)
def test_its_sums_are_those_of_the_window(told: list[tuple[TargetName, bool | None, float, int]]) -> None:
    """They are kept up, step by step; counted anew from all turns, they are the same."""
    watched, now_s = Watched(), 0.0
    seen: list[tuple[int, TargetName, bool | None]] = []
    for target, died, pause_s, number in told:
        now_s += pause_s
        step = int(now_s / (WINDOW_S / 10))
        watched.turns(target, number, died=died, now_s=now_s)
        seen += [(step, target, died)] * number
        within = [(target, died) for then, target, died in seen if then > step - 10]
        guard = watched.guard
        counts = Counter(within)
        targets = {target for target, _ in within}
        assert guard._died == sum(died is True for _, died in within)
        assert guard._delivered == sum(died is False for _, died in within)
        assert set(guard._tallies) == targets
        assert guard._dying == sum(
            counts[target, True] > 0.5 * (counts[target, True] + counts[target, False]) for target in targets
        )
