"""The steady clock: no step of the wall clock moves it before its time, and nothing makes it run fast."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from streams.steady_clock import ClockFollowed, ClockNews, ClockReturned, ClockStepped, SteadyClock

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
START_NS = 1_800_000_000 * NS_PER_S
START_MS = START_NS // NS_PER_MS
FOLLOW_AFTER = timedelta(minutes=15)
#: 50 millionths, and a millisecond for each of two roundings.
RATE = 50e-6
ROUNDING_MS = 1

minutes = st.integers(1, 20 * 60 * NS_PER_S)
small_step = st.integers(-250 * NS_PER_MS, 250 * NS_PER_MS)
any_step = st.integers(-86_400 * NS_PER_S, 86_400 * NS_PER_S)


class Bench:
    """A wall clock and an elapsed time that a test moves, and the steady clock on them."""

    def __init__(self) -> None:
        self.elapsed_ns = 0
        self.wall_offset_ns = START_NS
        self.told: list[ClockNews] = []
        self.interrupt_ns = 0
        """How long the process stands still between the next reading of one clock and that of the other."""
        self.clock = SteadyClock(
            wall_ns=self._wall_ns,
            elapsed_ns=lambda: self.elapsed_ns,
            follow_after=FOLLOW_AFTER,
            tell=self.told.append,
        )

    def pass_s(self, seconds: float) -> None:
        self.elapsed_ns += round(seconds * NS_PER_S)

    def step_s(self, seconds: float) -> None:
        self.wall_offset_ns += round(seconds * NS_PER_S)

    @property
    def wall_ms(self) -> float:
        return (self.wall_offset_ns + self.elapsed_ns) / NS_PER_MS

    def run_s(self, seconds: int) -> int:
        """Let time pass with a reading each second, and give the last."""
        for _ in range(seconds):
            self.pass_s(1)
            self.clock.now_ms()
        return self.clock.now_ms()

    def _wall_ns(self) -> int:
        self.elapsed_ns += self.interrupt_ns
        return self.wall_offset_ns + self.elapsed_ns


def test_a_step_is_told_once_and_moves_nothing() -> None:
    """INV-3: forward or back, for as long as it may be a mistake."""
    for seconds in (60, -60, 0.251, -0.251):
        bench = Bench()
        bench.step_s(seconds)
        assert bench.run_s(14 * 60) == START_MS + 14 * 60 * 1000
        assert bench.told == [ClockStepped(by=timedelta(seconds=seconds))]


def test_a_step_that_is_taken_back_has_changed_nothing() -> None:
    """Both are told."""
    bench = Bench()
    bench.step_s(60)
    bench.run_s(600)
    bench.step_s(-60)
    assert bench.run_s(3600) == START_MS + 4200 * 1000
    by = timedelta(seconds=60)
    assert bench.told == [ClockStepped(by=by), ClockReturned(by=by)]


def test_a_step_that_holds_is_followed_and_told() -> None:
    """After the longest wait in a lane, and not before: what was parked by the old time is gone by then."""
    for seconds in (60, -60):
        bench = Bench()
        bench.step_s(seconds)
        bench.run_s(1)
        by = timedelta(seconds=seconds)
        assert bench.run_s(15 * 60 - 1) == START_MS + 15 * 60 * 1000
        assert bench.run_s(1) == START_MS + (15 * 60 + 1 + seconds) * 1000
        assert bench.told == [ClockStepped(by=by), ClockFollowed(by=by)]
        bench.run_s(3600)
        assert len(bench.told) == 2


def test_a_second_step_begins_the_wait_anew() -> None:
    """Only a time that stands still can be believed."""
    bench = Bench()
    bench.step_s(60)
    bench.run_s(10 * 60)
    bench.step_s(-120)
    assert bench.run_s(14 * 60) == START_MS + 24 * 60 * 1000
    assert bench.told == [ClockStepped(by=timedelta(seconds=seconds)) for seconds in (60, -60)]
    bench.run_s(2 * 60)
    assert bench.told[2:] == [ClockFollowed(by=timedelta(seconds=-60))]


def test_a_process_that_stood_still_between_its_two_readings_sees_no_step() -> None:
    """Frozen, swapped out, paused with its machine: the pair of readings is thrown away, and taken again later."""
    bench = Bench()
    bench.pass_s(1)
    bench.interrupt_ns = 30 * NS_PER_S
    bench.clock.now_ms()
    bench.interrupt_ns = 0
    bench.run_s(10)
    assert not bench.told


def test_drift_is_followed() -> None:
    """A wall clock that NTP slews by 40 millionths for a day is not 3.5 s off by then, but milliseconds."""
    bench = Bench()
    for _ in range(24 * 360):
        bench.pass_s(10)
        bench.step_s(10 * 40e-6)
        bench.clock.now_ms()
    assert abs(bench.clock.now_ms() - bench.wall_ms) < 2
    assert not bench.told


@given(st.lists(st.tuples(minutes, any_step | small_step), max_size=60))
def test_it_advances_by_the_time_that_passed(changes: list[tuple[int, int]]) -> None:
    """INV-3: whatever the wall clock does, between any two readings no retry is hurried by more than 50 millionths.

    But where a step was followed, which is told: there it moves by what it tells.
    """
    bench = Bench()
    readings = [(bench.elapsed_ns, bench.clock.now_ms(), 0.0)]
    for passed_ns, step_ns in changes:
        bench.elapsed_ns += passed_ns
        bench.wall_offset_ns += step_ns
        now_ms = bench.clock.now_ms()
        followed = sum(
            news.by / timedelta(milliseconds=1) for news in bench.told if isinstance(news, ClockFollowed)
        )
        readings.append((bench.elapsed_ns, now_ms, followed))
    for index, (since_ns, before_ms, followed_before) in enumerate(readings):
        for at_ns, now_ms, followed in readings[index + 1 :]:
            passed_ms = (at_ns - since_ns) / NS_PER_MS
            advance_ms = now_ms - before_ms - (followed - followed_before)
            assert abs(advance_ms - passed_ms) <= passed_ms * RATE + ROUNDING_MS + 0.001 * len(bench.told)


@given(st.lists(st.tuples(minutes, any_step), max_size=60))
def test_it_follows_no_step_before_it_has_held(changes: list[tuple[int, int]]) -> None:
    """Between a step and its following lies all of `follow_after`, without another step between them."""
    bench = Bench()
    told_at: list[tuple[int, ClockNews]] = []
    for passed_ns, step_ns in changes:
        bench.elapsed_ns += passed_ns
        bench.wall_offset_ns += step_ns
        known = len(bench.told)
        bench.clock.now_ms()
        told_at += [(bench.elapsed_ns, news) for news in bench.told[known:]]
    for (at_ns, before), (later_ns, news) in pairwise([(0, None), *told_at]):
        if isinstance(news, ClockFollowed):
            assert isinstance(before, ClockStepped)
            assert later_ns - at_ns >= FOLLOW_AFTER / timedelta(microseconds=1) * 1000
            assert abs(news.by - before.by) <= timedelta(milliseconds=250)


@given(small_step, st.lists(st.integers(1, 3600 * NS_PER_S), min_size=1, max_size=60))
def test_a_small_difference_is_approached_and_never_passed(step_ns: int, passes_ns: list[int]) -> None:
    """Each reading is nearer to the wall clock than the one before, from the same side."""
    bench = Bench()
    bench.wall_offset_ns += step_ns
    ahead_ms = [abs(step_ns) / NS_PER_MS]
    for passed_ns in passes_ns:
        bench.elapsed_ns += passed_ns
        side = 1 if step_ns > 0 else -1
        ahead_ms.append(side * (bench.wall_ms - bench.clock.now_ms()))
    assert all(later <= before + ROUNDING_MS for before, later in pairwise(ahead_ms))
    assert min(ahead_ms) >= -ROUNDING_MS
    if sum(passes_ns) * RATE > abs(step_ns) + NS_PER_MS * 10:
        assert ahead_ms[-1] <= ROUNDING_MS + 5
