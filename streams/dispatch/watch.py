"""The watch over queues in which turns wait: each is looked at again, every tenth of a second, and when its gate opens.

A target that hangs gives no other sign, nor does a token that has become free. Place in the data's way: beside the
dispatcher, which says what looking means. What always holds: a queue is looked at as long as turns wait in it, and no
oftener than every hundredth of a second for its gate's sake: a rate that is finer than that has as many tokens by then.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from streams.dispatch.ports import Surroundings
from streams.dispatch.target_queue import TargetQueue

__all__ = ["Watch"]

_EVERY_S: Final = 0.1
_LEAST_S: Final = 0.01


class Watch:
    """Which queues have turns waiting.

    Args:
        look: starts what may start in a queue, and parks what can't wait there.
        surroundings: the time, as the gates know it.
    """

    __slots__ = ("_alarms", "_around", "_crowded", "_look", "_timer")

    def __init__(self, look: Callable[[TargetQueue], None], *, surroundings: Surroundings) -> None:
        self._look = look
        self._around = surroundings
        self._crowded: set[TargetQueue] = set()
        self._alarms: dict[TargetQueue, asyncio.TimerHandle] = {}
        self._timer: asyncio.TimerHandle | None = None

    def keep(self, queue: TargetQueue) -> None:
        """Turns wait in this queue."""
        self._crowded.add(queue)
        loop = asyncio.get_running_loop()
        if self._timer is None:
            self._timer = loop.call_later(_EVERY_S, self._round)
        if queue not in self._alarms:
            held_s = queue.held_s(now_s=self._around.monotonic_s())
            if held_s:
                self._alarms[queue] = loop.call_later(max(held_s, _LEAST_S), self._alarm, queue)

    def look_at_all(self) -> None:
        """Look at every queue in which turns wait."""
        for queue in list(self._crowded):
            self._look_at(queue)

    def _round(self) -> None:
        self._timer = None
        self.look_at_all()

    def _alarm(self, queue: TargetQueue) -> None:
        del self._alarms[queue]
        self._look_at(queue)

    def _look_at(self, queue: TargetQueue) -> None:
        self._look(queue)
        if queue.waiting:
            self.keep(queue)
            return
        self._crowded.discard(queue)
        alarm = self._alarms.pop(queue, None)
        if alarm is not None:
            alarm.cancel()
