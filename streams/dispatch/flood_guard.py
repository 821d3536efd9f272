"""The flood guard: whether so much dies just now that it is rather ours than theirs. Pure; the clock is passed in.

Place in the data's way: settlement tells it of every turn, and asks it before a delivery becomes a dead letter. While
it is open, what would die is held instead: it waits in a delay tier at no attempt, and is tried again. A bad
deployment, a resolver that is down, or a proxy that answers 404 for everybody has an end; a topic that was emptied
into the dead letters has to be sent again by somebody. What always holds: one target of several never opens it,
whatever its part of the traffic (docs/adr/0025). Must not decide for how long a delivery may be held.

    closed  opens when, within the window, more than the share of what ended died, and that at more than the share of
            the targets that had turns: two at least, where there are more than one
    open    closes when one of the two shares has fallen to half of it, or when something was delivered and nothing died
            (what is held comes back seldom, and healthy targets outnumber it soon: so it stays open while the targets
            that died when last heard of, within the longest wait, are more than half of the share of all heard of)
    unsure  a guard that has never been open, and that would not close now if it were: another worker's, or the one of
            before a restart, may be or have been right to hold what comes back from there
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streams.records.target import TargetName

__all__ = ["Flood", "FloodGuard"]

#: So many must have died: a few are no flood, and soon sent again.
_FLOOD: Final = 50
#: So many endings say that it is over.
_ENOUGH: Final = 20
#: The window moves on in steps.
_STEPS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """What the guard has seen within its window when it opened or closed."""

    open: bool
    died: int
    delivered: int
    dying_targets: int
    targets: int


class _Tally:
    __slots__ = ("delivered", "died", "turns")

    def __init__(self) -> None:
        self.turns = 0
        self.delivered = 0
        self.died = 0


class FloodGuard:
    """Closed at first.

    Args:
        share: of what ends, and of the targets; 1 or more: it never opens.
        window_s: how far back it looks.
        longest_wait_s: after so long, what was held at a target has come back.
        known_targets: how many targets there are, with turns or without.
        on_change: told when it opens and closes.

    >>> changes = []
    >>> guard = FloodGuard(share=0.5, window_s=60, known_targets=lambda: 2, on_change=changes.append)
    >>> shop, bank = TargetName("endpoint", "ep_shop"), TargetName("endpoint", "ep_bank")
    >>> for second in range(60):
    ...     guard.turned(shop, died=True, now_s=second)
    >>> guard.open  # one of two: theirs
    False
    >>> for second in range(60, 90):
    ...     guard.turned(shop, died=True, now_s=second)
    ...     guard.turned(bank, died=True, now_s=second)
    >>> guard.open, changes[0].dying_targets
    (True, 2)
    """

    __slots__ = (
        "_delivered",
        "_died",
        "_dying",
        "_fresh",
        "_known_targets",
        "_memory_s",
        "_on_change",
        "_share",
        "_step",
        "_step_s",
        "_steps",
        "_suspects",
        "_tallies",
        "open",
    )

    def __init__(
        self,
        *,
        share: float,
        window_s: float,
        longest_wait_s: float = 0.0,
        known_targets: Callable[[], int],
        on_change: Callable[[Flood], None],
    ) -> None:
        self._share = share
        self._known_targets = known_targets
        self._step_s = window_s / _STEPS
        self._memory_s = window_s + longest_wait_s
        self._on_change = on_change
        #: What was told in each step of the window, the latest last, and the sum of them.
        self._steps: deque[tuple[int, dict[TargetName, _Tally]]] = deque()
        self._step: dict[TargetName, _Tally] = {}
        self._tallies: dict[TargetName, _Tally] = {}
        self._died = 0
        self._delivered = 0
        self._dying = 0
        self._fresh = True
        #: While it is open: where the last that ended died, and when, the latest last.
        self._suspects: dict[TargetName, float] = {}
        self.open = False

    @property
    def unsure(self) -> bool:
        """Whether it can't say that a flood is over which it hasn't seen begin."""
        return self._fresh and self._share < 1 and self._beyond(self._share / 2)

    def turned(self, target: TargetName, *, died: bool | None, now_s: float) -> None:
        """A turn ended: the delivery would die, was delivered, or (None) goes on."""
        self._move_to(int(now_s / self._step_s))
        self._add(self._step, target, died=died)
        tally = self._tallies.get(target)
        if tally is None:
            tally = self._tallies[target] = _Tally()
        was = self._is_dying(tally)
        tally.turns += 1
        if died is not None:
            if died:
                tally.died += 1
                self._died += 1
            else:
                tally.delivered += 1
                self._delivered += 1
            self._dying += self._is_dying(tally) - was
            if self.open:
                self._suspects.pop(target, None)
                if died:
                    self._suspects[target] = now_s
            if died or self.open:
                self._judge(now_s)

    @staticmethod
    def _add(step: dict[TargetName, _Tally], target: TargetName, *, died: bool | None) -> None:
        tally = step.get(target)
        if tally is None:
            tally = step[target] = _Tally()
        tally.turns += 1
        if died:
            tally.died += 1
        elif died is not None:
            tally.delivered += 1

    def _is_dying(self, tally: _Tally) -> bool:
        return tally.died > self._share * (tally.died + tally.delivered)

    def _move_to(self, number: int) -> None:
        if self._steps and self._steps[-1][0] == number:
            return
        while self._steps and self._steps[0][0] <= number - _STEPS:
            self._forget(self._steps.popleft()[1])
        self._step = {}
        self._steps.append((number, self._step))

    def _forget(self, step: dict[TargetName, _Tally]) -> None:
        for target, gone in step.items():
            tally = self._tallies[target]
            was = self._is_dying(tally)
            tally.turns -= gone.turns
            tally.died -= gone.died
            tally.delivered -= gone.delivered
            self._died -= gone.died
            self._delivered -= gone.delivered
            self._dying += self._is_dying(tally) - was
            if not tally.turns:
                del self._tallies[target]

    def _judge(self, now_s: float) -> None:
        if self.open:
            recovered = not self._beyond(self._share / 2) and self._died + self._delivered >= _ENOUGH
            if (recovered or (self._delivered and not self._died)) and not self._still_suspect(now_s):
                self._suspects = {}
                self._turn(open_now=False)
        elif self._died >= _FLOOD and self._beyond(self._share) and self._of_several():
            self._suspects = {name: now_s for name, tally in self._tallies.items() if self._is_dying(tally)}
            self._turn(open_now=True)

    def _still_suspect(self, now_s: float) -> bool:
        while self._suspects:
            target, died_at_s = next(iter(self._suspects.items()))
            if now_s - died_at_s <= self._memory_s:
                break
            del self._suspects[target]
        # Who is in both is counted twice: that closes it a little sooner, and nobody has to count.
        return len(self._suspects) > self._share / 2 * (len(self._suspects) + len(self._tallies))

    def _beyond(self, share: float) -> bool:
        of_traffic = self._died > share * (self._died + self._delivered)
        return of_traffic and self._dying > share * len(self._tallies)

    def _of_several(self) -> bool:
        return self._dying > 1 or self._known_targets() <= 1

    def _turn(self, *, open_now: bool) -> None:
        self.open = open_now
        self._fresh = False
        self._on_change(
            Flood(
                open=open_now,
                died=self._died,
                delivered=self._delivered,
                dying_targets=self._dying,
                targets=len(self._tallies),
            )
        )
