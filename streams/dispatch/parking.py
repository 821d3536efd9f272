"""Parking: what a target can't be given soon leaves the worker for a delay tier, and costs no attempt.

Place in the data's way: beside the dispatcher, which asks it for every turn that comes, and for every queue that is
looked at. What always holds: a target takes no room for long that others could use (INV-6), whether it is slow, its
circuit is open, or its limits are reached. Must not start an attempt.
"""

from datetime import timedelta
from typing import Final

from streams.dispatch.ports import Surroundings
from streams.dispatch.settlement import Settlement
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.tenure import Tenure
from streams.dispatch.turn import Turn
from streams.dispatch.window import Window
from streams.records.outcome import Deferred

__all__ = ["Parking"]

#: A target that hangs may do so for minutes; it needn't be asked that seldom whether it still does.
_LONGEST_HINT_S: Final = 30.0


class Parking:
    """Decides what must be parked, and parks it.

    Args:
        settlement: what parked turns come to.
        tenure: whether the partitions are surely still ours.
        window: the room that all targets share.
        park_wait_s: how long a target's queue may be before its turns are parked.
        surroundings: the time.
    """

    __slots__ = ("_around", "_park_wait_s", "_settlement", "_tenure", "_window")

    def __init__(
        self,
        settlement: Settlement,
        *,
        tenure: Tenure,
        window: Window,
        park_wait_s: float,
        surroundings: Surroundings,
    ) -> None:
        self._settlement = settlement
        self._tenure = tenure
        self._window = window
        self._park_wait_s = park_wait_s
        self._around = surroundings

    def turned_away(self, turn: Turn, queue: TargetQueue, *, now_s: float) -> bool:
        """Park a turn that comes, if its target's gate won't have it wait here behind those who do."""
        deferral = self._deferral(turn, queue, now_s=now_s) if self._tenure.held() else None
        if deferral is not None:
            self._park(turn, deferral)
        return deferral is not None

    def relieve(self, queue: TargetQueue, *, now_s: float) -> None:
        """Park what waits in a queue and can't be served soon.

        Nothing is parked while attempts wait for the lease: the target isn't slow then, and the turns may be another
        worker's already, who makes their attempts.
        """
        limited = queue.target.limited
        crowding = self._crowds(queue) if limited else 2 * queue.waiting > self._window.size
        if not self._tenure.held() or not queue.overloaded(
            now_s=now_s, bound_s=self._park_wait_s, crowding=crowding
        ):
            return
        slow = "the target's concurrency is limited" if limited else "the target is slow"
        # Before one of those that run has ended, it would only be put off again.
        after = timedelta(seconds=min(queue.service_s(now_s=now_s), _LONGEST_HINT_S))
        for turn in queue.withdraw_overload(now_s=now_s, bound_s=self._park_wait_s):
            deferral = self._deferral(turn, queue, now_s=now_s)
            self._park(turn, deferral or Deferred(reason=f"{slow} and its queue is long", retry_after=after))

    def _deferral(self, turn: Turn, queue: TargetQueue, *, now_s: float) -> Deferred | None:
        booked_for_ms = turn.delivery.booked_for_ms
        return turn.target.gate.deferral(
            now_s=now_s,
            ahead=queue.waiting,
            booked_in_s=None if booked_for_ms is None else (booked_for_ms - self._around.clock_ms()) / 1000,
            bound_s=self._park_wait_s,
            crowded=self._crowds(queue, booked=booked_for_ms is not None),
        )

    def _crowds(self, queue: TargetQueue, *, booked: bool = False) -> bool:
        """Does it take more than half of the room that is left? However many there are, they leave some to others.

        Who is booked for now has waited elsewhere already, and may take as much as is left.
        """
        return (1 if booked else 2) * queue.waiting > self._window.size - self._window.open_turns

    def _park(self, turn: Turn, why: Deferred) -> None:
        turn.flight.started = True
        self._settlement.conclude(turn, why)
