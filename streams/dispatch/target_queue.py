"""The queue of one target: at most so many attempts at once, one at a time per key, and an estimate of the wait.

The estimate is what keeps one slow target from holding everybody's window (INV-6): when its queue would
wait longer than a bound *and* its attempts are slow, its waiting turns are withdrawn and parked. A fast
target under a backlog is never overloaded in this sense: there, back-pressure is right.

Pure bookkeeping; the monotonic clock's reading is passed in, in seconds.
"""

from collections import deque
from collections.abc import Callable

from streams.dispatch.target import Target
from streams.dispatch.turn import Turn

__all__ = ["TargetQueue"]

#: An attempt that takes longer than this makes a target slow.
_SLOW_S = 1.0
_SMOOTHING = 0.2

_Key = tuple[str, str]


class TargetQueue:
    """Running and waiting turns of one target."""

    __slots__ = ("_behind", "_ready", "_running", "_service_s", "target", "waiting")

    def __init__(self, target: Target) -> None:
        self.target = target
        self._running: dict[Turn, float] = {}  # started at; in the order of starting
        self._ready: deque[Turn] = deque()  # their key is free, but no slot is
        self._behind: dict[_Key, deque[Turn] | None] = {}  # keys in use, and who waits behind
        self._service_s = 0.0
        self.waiting = 0

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not self._running and not self.waiting

    def admit(self, turn: Turn, *, now_s: float) -> bool:
        """Take a turn in. True: it has its slot, run it. False: it waits, and `finished` hands it out in its time."""
        if turn.key not in self._behind and len(self._running) < self.target.concurrency:
            self._behind[turn.key] = None
            self._running[turn] = now_s
            return True
        self._wait(turn)
        return False

    def finished(self, turn: Turn, *, now_s: float) -> list[Turn]:
        """A running turn's attempt ended. Returns the turns that have their slots now."""
        duration_s = now_s - self._running.pop(turn)
        self._service_s += _SMOOTHING * (duration_s - self._service_s)
        behind = self._behind[turn.key]
        if behind:
            self._ready.append(behind.popleft())
        else:
            del self._behind[turn.key]
        return self._start_ready(now_s=now_s)

    def service_s(self, *, now_s: float) -> float:
        """How long an attempt takes at present: the smoothed past, or the oldest running attempt if that is longer."""
        oldest = next(iter(self._running.values()), now_s)
        return max(self._service_s, now_s - oldest)

    def overloaded(self, *, now_s: float, bound_s: float) -> bool:
        """Is it slow, and would the last in its queue wait longer than the bound?"""
        service_s = self.service_s(now_s=now_s)
        return service_s > _SLOW_S and self.waiting * service_s > bound_s * self.target.concurrency

    def withdraw_overload(self, *, now_s: float, bound_s: float) -> list[Turn]:
        """Take out the waiting turns that can't be served within the bound, the latest first in line to go."""
        stays = int(bound_s * self.target.concurrency / self.service_s(now_s=now_s))
        return self.withdraw(lambda index, _turn: index >= stays)

    def withdraw(self, goes: Callable[[int, Turn], bool]) -> list[Turn]:
        """Take out every waiting turn for which `goes(index in the queue, turn)` holds; the order of the rest stays."""
        waiting = [*self._ready, *(turn for behind in self._behind.values() if behind for turn in behind)]
        self._ready.clear()
        self._behind = {turn.key: None for turn in self._running}
        self.waiting = 0
        gone = []
        for index, turn in enumerate(waiting):
            if goes(index, turn):
                gone.append(turn)
            else:
                self._wait(turn)
        return gone

    def running_turns(self) -> list[Turn]:
        """The turns whose attempts run now, the longest running first."""
        return list(self._running)

    def _wait(self, turn: Turn) -> None:
        self.waiting += 1
        if turn.key not in self._behind:
            self._behind[turn.key] = None
            self._ready.append(turn)
            return
        behind = self._behind[turn.key]
        if behind is None:
            behind = self._behind[turn.key] = deque()
        behind.append(turn)

    def _start_ready(self, *, now_s: float) -> list[Turn]:
        started = []
        while self._ready and len(self._running) < self.target.concurrency:
            turn = self._ready.popleft()
            self.waiting -= 1
            self._running[turn] = now_s
            started.append(turn)
        return started
