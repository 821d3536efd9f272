"""Whose turn it is among replays that can't get on: what came back stands behind all others, and rests first.

Place in the data's way: between the threads of one process and the claims they make. Invariant: a replay that came back
is not tried again before its rest is over, nor before those that have not been tried since; so however many wait for
something, each other one has its turn. Of other processes it knows nothing: they have turns of their own.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["Turns"]

_REST_S: Final = 5.0
#: So many are remembered: those that end elsewhere are not heard of.
_REMEMBERED: Final = 1_000


class Turns:
    """The turns of one process's threads.

    >>> seconds = [0.0]
    >>> turns = Turns(monotonic_s=lambda: seconds[0])
    >>> turns.came_back("a")
    >>> turns.all(), turns.resting()
    (['a'], ['a'])
    >>> seconds[0] = 5.0
    >>> turns.came_back("b")
    >>> turns.all(), turns.resting()
    (['a', 'b'], ['b'])

    Args:
        monotonic_s: seconds that only go forward.
    """

    def __init__(self, *, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._lock = threading.Lock()
        self._rested_s: OrderedDict[str, float] = OrderedDict()

    def came_back(self, replay_id: str) -> None:
        """It could not get on: it is tried again after a rest, and after all others."""
        with self._lock:
            self._rested_s.pop(replay_id, None)
            self._rested_s[replay_id] = self._monotonic_s() + _REST_S
            if len(self._rested_s) > _REMEMBERED:
                self._rested_s.popitem(last=False)

    def all(self) -> Sequence[str]:
        """What came back, the longest ago first."""
        with self._lock:
            return list(self._rested_s)

    def resting(self) -> Sequence[str]:
        """What is not to be tried yet."""
        with self._lock:
            now_s = self._monotonic_s()
            return [replay_id for replay_id, rested_s in self._rested_s.items() if rested_s > now_s]
