"""Time, chance and names of the real world, for the dispatcher and the scheduler.

Two times of day, on purpose. `clock_ms` is steady: when a parked delivery is due is written and obeyed by it, and no
step of the system's clock moves it (docs/adr/0011). `now` is the system's clock as it is: what a receiver compares
with its own, so the time in a webhook's signature is that one.
"""

import random
import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Final, assert_never

import structlog

from streams.steady_clock import ClockFollowed, ClockNews, ClockReturned, ClockStepped, SteadyClock

__all__ = ["SystemSurroundings"]

_log = structlog.get_logger("streams.clock")

#: A time server that is wrong, or an operator who is, has this long to put it right before anything comes of it.
_LEAST_FOLLOW_AFTER: Final = timedelta(minutes=15)
#: Counts on while the machine is suspended. macOS has no clock of that name; its monotonic one counts on as well.
_ELAPSED: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemSurroundings:
    """The system's clocks and random source. One thread's, because of its steady clock.

    Args:
        longest_tier: for how long at least a step of the clock must hold before it is believed; never for less than
            15 minutes.
    """

    def __init__(self, *, longest_tier: timedelta = _LEAST_FOLLOW_AFTER) -> None:
        self._random = random.Random()  # noqa: S311 - it spreads retries; nothing secret depends on it
        self._follow_after = max(longest_tier, _LEAST_FOLLOW_AFTER)
        self._steady = SteadyClock(
            wall_ns=time.time_ns,
            elapsed_ns=lambda: time.clock_gettime_ns(_ELAPSED),
            follow_after=self._follow_after,
            tell=self._told,
        )

    def clock_ms(self) -> int:
        """Epoch milliseconds, steady."""
        return self._steady.now_ms()

    def now(self) -> datetime:
        """The system's time of day, wherever it was set to."""
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic_s(self) -> float:
        """Seconds that only go forward, and go on while the machine is suspended: so does the group's session."""
        return time.clock_gettime(_ELAPSED)

    def random(self) -> float:
        """A float in [0, 1)."""
        return self._random.random()

    def new_id(self) -> uuid.UUID:
        """A new attempt id."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    def _told(self, news: ClockNews) -> None:
        by_s = round(news.by.total_seconds(), 3)
        match news:
            case ClockStepped():
                _log.warning("clock_stepped", by_s=by_s, followed_after_s=self._follow_after.total_seconds())
            case ClockFollowed():
                _log.warning("clock_followed", by_s=by_s)
            case ClockReturned():
                _log.info("clock_returned", by_s=by_s)
            case _:
                assert_never(news)
