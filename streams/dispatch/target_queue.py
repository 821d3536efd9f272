"""The queue of one target: at most so many attempts at once, one at a time per key, and an estimate of the wait.

The estimate is what keeps one slow target from holding everybody's window (INV-6): when its queue would wait longer
than a bound *and* its attempts are slow, its waiting turns are withdrawn and parked. A fast target under a backlog is
never overloaded in this sense: there, back-pressure is right. "Slow" is a matter of medians: one attempt that hangs
takes one slot, and the others go on serving the queue. A target whose concurrency somebody has limited may be as fast
as it likes: where its queue crowds out others, what it can't serve soon goes too. And so do those whom the target's
gate holds for longer than the bound.

Pure bookkeeping; the monotonic clock's reading is passed in, in seconds.
"""

from collections import deque
from collections.abc import Callable
from statistics import median

from streams.dispatch.target import Target
from streams.dispatch.turn import Turn

__all__ = ["TargetQueue"]

#: An attempt that takes longer than this makes a target slow; where its queue takes half of the worker's room, this.
_SLOW_S = 1.0
_SLOW_AND_CROWDING_S = 0.1
#: So many of the last attempts tell how long one takes.
_REMEMBERED = 9

_Key = tuple[str, str]


class TargetQueue:
    """Running and waiting turns of one target."""

    __slots__ = ("_behind", "_ready", "_running", "_took_s", "target", "waiting")

    def __init__(self, target: Target) -> None:
        self.target = target
        # Those that have a slot; since when the attempt is under way, if it is. In the order of starting.
        self._running: dict[Turn, float | None] = {}
        self._ready: deque[Turn] = deque()  # their key is free, but no slot is
        self._behind: dict[_Key, deque[Turn] | None] = {}  # keys in use, and who waits behind
        self._took_s: deque[float] = deque(maxlen=_REMEMBERED)
        self.waiting = 0

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not self._running and not self.waiting

    def admit(self, turn: Turn, *, now_s: float) -> bool:
        """Take a turn in. True: it has its slot, run it. False: it waits, and `finished` hands it out in its time."""
        if not self._ready and turn.key not in self._behind and self._may_begin(now_s=now_s):
            self._behind[turn.key] = None
            self._begin(turn, now_s=now_s)
            return True
        self._wait(turn)
        return False

    def finished(self, turn: Turn, *, now_s: float, failed: bool | None = None) -> list[Turn]:
        """A running turn's attempt ended. Returns the turns that have their slots now. `failed` is for the gate."""
        if turn.begun is not None:
            self.target.gate.ended(turn.begun, failed=failed, now_s=now_s)
        self.ends(turn, now_s=now_s)
        del self._running[turn]
        behind = self._behind[turn.key]
        if behind:
            self._ready.append(behind.popleft())
        else:
            del self._behind[turn.key]
        return self.start_ready(now_s=now_s)

    def start_ready(self, *, now_s: float) -> list[Turn]:
        """Give slots to those that wait for one, as far as there are any. Asked again for what a gate holds."""
        started = []
        while self._ready and self._may_begin(now_s=now_s):
            turn = self._ready.popleft()
            self.waiting -= 1
            self._begin(turn, now_s=now_s)
            started.append(turn)
        return started

    def waits(self, turn: Turn) -> None:
        """A turn has its slot and can't make its attempt yet, which is not the target's doing."""
        self._running[turn] = None

    def begins(self, turn: Turn, *, now_s: float) -> None:
        """A turn that had to wait makes its attempt now."""
        del self._running[turn]  # it is the latest now
        self._running[turn] = now_s

    def ends(self, turn: Turn, *, now_s: float) -> None:
        """A turn's attempt has ended; its slot it may keep for a while, which is not the target's doing."""
        began_s = self._running[turn]
        if began_s is not None:
            self._took_s.append(now_s - began_s)
            self._running[turn] = None

    def service_s(self, *, now_s: float) -> float:
        """How long an attempt takes at present: the median of the last ones, or of those that run if that is longer."""
        took_s = median(self._took_s) if self._took_s else 0.0
        # They stand in the order of their starts, so the middle one is the oldest of the younger half.
        began_s = [at_s for at_s in self._running.values() if at_s is not None]
        middle = began_s[len(began_s) // 2] if began_s else now_s
        return max(took_s, now_s - middle)

    def held_s(self, *, now_s: float) -> float:
        """For how long its gate lets none of those begin whose key is free; 0 where there are none."""
        return self.target.gate.hold_s(now_s=now_s) if self._ready else 0.0

    def overloaded(self, *, now_s: float, bound_s: float, crowding: bool = False) -> bool:
        """Would the last in its queue wait longer than the bound, because it is slow, or for its gate?

        `crowding`: its queue takes more of the room that all targets share than is good for them. Then it needn't be so
        slow.
        """
        if self.waiting and self._held_beyond(bound_s, now_s=now_s, index=self.waiting - 1):
            return True
        service_s = self.service_s(now_s=now_s)
        slow_s = _SLOW_S if not crowding else 0.0 if self.target.limited else _SLOW_AND_CROWDING_S
        return service_s > slow_s and self.waiting * service_s > bound_s * self.target.concurrency

    def withdraw_overload(self, *, now_s: float, bound_s: float) -> list[Turn]:
        """Take out the waiting turns that can't be served within the bound, the latest first in line to go."""
        service_s = self.service_s(now_s=now_s)
        stays = int(bound_s * self.target.concurrency / service_s) if service_s else self.waiting
        return self.withdraw(
            lambda index, _turn: index >= stays or self._held_beyond(bound_s, now_s=now_s, index=index)
        )

    def _held_beyond(self, bound_s: float, *, now_s: float, index: int) -> bool:
        # Twice: who comes back a bound's time before it is booked waits that long, and as long as anybody.
        return self.target.gate.hold_s(now_s=now_s, ahead=index) > 2 * bound_s

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

    def _may_begin(self, *, now_s: float) -> bool:
        return len(self._running) < self.target.concurrency and not self.target.gate.hold_s(now_s=now_s)

    def _begin(self, turn: Turn, *, now_s: float) -> None:
        turn.begun = self.target.gate.began(now_s=now_s)
        self._running[turn] = now_s
