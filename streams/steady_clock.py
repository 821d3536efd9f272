"""Epoch time that a step of the system's clock doesn't move. Pure: both clocks it reads are passed in.

Place in the data's way: a worker writes by it when a parked delivery is due, the scheduler obeys that by its own
(INV-3). A wall clock may jump: set by hand, by a bad time server, by NTP after a long outage. Ahead, it would fire
retries early; back, it would hold them. So this clock takes the time of day once, at its start, and counts on by a
clock that can't be set.

What always holds, between two readings and as long as no step was followed: it advances by the time that passed, to 50
millionths (3 ms a minute) and its own rounding to milliseconds.

- A small difference from the wall clock, up to 250 ms, is made up for at that rate. So it doesn't wander off.
- A larger one is a step. It is told, and changes nothing until it has held for `follow_after`. Then it is taken for
  the truth, and told again. One that is taken back before is told, and that is all.

What it can't know: which time is right. One that starts on a wrong wall clock is wrong. Not for one instance from
several threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

__all__ = ["ClockFollowed", "ClockNews", "ClockReturned", "ClockStepped", "SteadyClock"]

_NS_PER_MS: Final = 1_000_000
_STEP_NS: Final = 250 * _NS_PER_MS
_CHECK_EVERY_NS: Final = 100 * _NS_PER_MS
#: How far off the rate may be to follow a small difference, in nanoseconds a millisecond.
_SLEW_NS_PER_MS: Final = 50
#: The two clocks can't be read at once. A pair between whose readings this process stood still says nothing.
_SHARP_NS: Final = 200_000
_TRIES: Final = 3
_TRIES_AT_START: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStepped:
    """The wall clock is this far ahead of the steady one (behind it, when negative). Not followed yet."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFollowed:
    """The step has held for long enough: the steady clock has moved by this."""

    by: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReturned:
    """The wall clock, which was off by this, is back where it should be. Nothing has come of it."""

    by: timedelta


ClockNews = ClockStepped | ClockFollowed | ClockReturned


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    by_ns: int
    seen_at_ns: int


class SteadyClock:
    """Epoch milliseconds, from a wall clock's time at the start and the time that passed since.

    Args:
        wall_ns: the system's time of day, in nanoseconds since the epoch. It may jump.
        elapsed_ns: nanoseconds since some moment. It never jumps, and counts on while the machine is suspended.
        follow_after: how long a step must hold to be believed. At least the longest tier: what was parked by
            the time before is gone from its lane by then.
        tell: called with each step, and with how it ended.

    >>> passed_ns, stepped_ns, told = 0, 0, []
    >>> clock = SteadyClock(
    ...     wall_ns=lambda: 1_000_000_000_000 + passed_ns + stepped_ns,
    ...     elapsed_ns=lambda: passed_ns,
    ...     follow_after=timedelta(minutes=15),
    ...     tell=told.append,
    ... )
    >>> passed_ns, stepped_ns = 2_000_000_000, 60_000_000_000
    >>> clock.now_ms()
    1002000
    >>> told
    [ClockStepped(by=datetime.timedelta(seconds=60))]
    """

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int],
        elapsed_ns: Callable[[], int],
        follow_after: timedelta,
        tell: Callable[[ClockNews], None],
    ) -> None:
        self._wall_ns = wall_ns
        self._elapsed_ns = elapsed_ns
        self._follow_after_ns = follow_after // timedelta(microseconds=1) * 1000
        self._tell = tell
        self._step: _Step | None = None
        self._offset_ns, _ = self._measure(tries=_TRIES_AT_START)
        self._checked_ns = elapsed_ns()

    def now_ms(self) -> int:
        """Epoch milliseconds. Cheap: it looks at the wall clock ten times a second, however often it is called."""
        elapsed_ns = self._elapsed_ns()
        if elapsed_ns - self._checked_ns >= _CHECK_EVERY_NS:
            self._check(elapsed_ns)
        return (elapsed_ns + self._offset_ns) // _NS_PER_MS

    def _check(self, elapsed_ns: int) -> None:
        offset_ns, is_sharp = self._measure(tries=_TRIES)
        if not is_sharp:
            return  # it is tried again at the next call
        since_ns, self._checked_ns = elapsed_ns - self._checked_ns, elapsed_ns
        ahead_ns = offset_ns - self._offset_ns
        if abs(ahead_ns) <= _STEP_NS:
            self._returned()
            most_ns = since_ns * _SLEW_NS_PER_MS // _NS_PER_MS
            self._offset_ns += max(-most_ns, min(ahead_ns, most_ns))
        elif self._step is None or abs(ahead_ns - self._step.by_ns) > _STEP_NS:
            self._step = _Step(by_ns=ahead_ns, seen_at_ns=elapsed_ns)
            self._tell(ClockStepped(by=_duration(ahead_ns)))
        elif elapsed_ns - self._step.seen_at_ns >= self._follow_after_ns:
            self._step = None
            self._offset_ns = offset_ns
            self._tell(ClockFollowed(by=_duration(ahead_ns)))

    def _returned(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            self._tell(ClockReturned(by=_duration(step.by_ns)))

    def _measure(self, *, tries: int) -> tuple[int, bool]:
        """How far the wall clock is ahead of the elapsed time, and whether both were read at nearly the same moment."""
        best_ns, best_span_ns = 0, -1
        for _ in range(tries):
            before_ns = self._elapsed_ns()
            wall_ns = self._wall_ns()
            span_ns = self._elapsed_ns() - before_ns
            if best_span_ns < 0 or span_ns < best_span_ns:
                best_ns, best_span_ns = wall_ns - before_ns - span_ns // 2, span_ns
            if span_ns <= _SHARP_NS:
                break
        return best_ns, best_span_ns <= _SHARP_NS


def _duration(nanoseconds: int) -> timedelta:
    return timedelta(microseconds=round(nanoseconds / 1000))
