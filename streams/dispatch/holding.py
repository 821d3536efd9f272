"""Holding: what would become a dead letter while the flood guard is open waits in a delay tier instead, for a while.

Place in the data's way: within settlement, between the policy's decision and the records. What always holds: a delivery
is held for so long at most, counted from the first time; then it is buried as it would have been (INV-1). Being held
costs no attempt. Must not touch what has another end: a success, a retry, a deleted endpoint.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from streams.dispatch.flood_guard import Flood, FloodGuard
from streams.dispatch.ports import Surroundings
from streams.records.next_hop import DeadLetter, NextHop
from streams.records.outcome import Deferred, ErrorCode, Outcome, Rejected, Succeeded
from streams.records.target import TargetName
from streams.retry.policy import hold
from streams.retry.tiers import RetryTiers

__all__ = ["FloodSign", "Holding"]

_TELL_EVERY_S: Final = 60.0
#: What no outage of ours brings about, and no time heals: they are buried at once, and say nothing of a flood.
_FOR_GOOD: Final = frozenset({ErrorCode.ENDPOINT_GONE, ErrorCode.EVENT_MALFORMED})


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodSign:
    """What the log and the metrics are told: that the guard opened, that it holds, that it closed.

    `held` is how often deliveries were held since it opened.
    """

    state: Literal["opened", "holding", "closed"]
    flood: Flood
    held: int


class Holding:
    """Applies the guard to a worker's turns.

    Args:
        share: what the guard takes for a flood, and within which time: see FloodGuard.
        window: that time; a delivery that is held waits about as long at least.
        longest: for how long a delivery may be held in all.
        known_targets: how many targets this worker has.
        tell: told when the guard opens and closes, and once a minute while it holds something.
        tiers: where they wait.
        surroundings: time and chance.
    """

    def __init__(
        self,
        *,
        share: float,
        window: timedelta,
        longest: timedelta,
        known_targets: Callable[[], int],
        tell: Callable[[FloodSign], None],
        tiers: RetryTiers,
        surroundings: Surroundings,
    ) -> None:
        self._guard = FloodGuard(
            share=share,
            window_s=window.total_seconds(),
            longest_wait_s=max(tiers.longest_ms / 1000, 2 * window.total_seconds()),
            known_targets=known_targets,
            on_change=self._changed,
        )
        self._window = window
        self._longest_ms = longest // timedelta(milliseconds=1)
        self._tell = tell
        self._tiers = tiers
        self._around = surroundings
        self._flood: Flood | None = None
        self._held = 0
        self._told_at_s = 0.0

    def checked(self, target: TargetName, outcome: Outcome, next_hop: NextHop) -> NextHop:
        """What follows a turn: what the policy says, or a wait instead of a burial."""
        died = _died(outcome, next_hop)
        now_s = self._around.monotonic_s()
        self._guard.turned(target, died=died, now_s=now_s)
        if not died or not isinstance(next_hop, DeadLetter):
            return next_hop
        now_ms = self._around.clock_ms()
        held_since_ms = next_hop.delivery.held_since_ms
        if held_since_ms is None:
            holds = self._guard.open
        else:
            # What was held is owed an attempt, whatever its age: a full queue or a limit is none. And a worker that
            # was just started doesn't know yet what the one before it knew.
            owed = isinstance(outcome, Deferred) or self._guard.unsure
            holds = (self._guard.open or owed) and now_ms - held_since_ms < self._longest_ms
        if not holds:
            return next_hop
        self._count(now_s=now_s)
        return hold(
            next_hop, at_least=self._window, tiers=self._tiers, now_ms=now_ms, random=self._around.random
        )

    def _count(self, *, now_s: float) -> None:
        self._held += 1
        if self._flood is not None and now_s - self._told_at_s >= _TELL_EVERY_S:
            self._told_at_s = now_s
            self._tell(FloodSign(state="holding", flood=self._flood, held=self._held))

    def _changed(self, flood: Flood) -> None:
        self._told_at_s = self._around.monotonic_s()
        if flood.open:
            self._flood, self._held = flood, 0
            self._tell(FloodSign(state="opened", flood=flood, held=0))
        else:
            self._flood = None
            self._tell(FloodSign(state="closed", flood=flood, held=self._held))


def _died(outcome: Outcome, next_hop: NextHop) -> bool | None:
    """Whether a delivery would die of its turn, or was delivered; None for all that says nothing of a flood."""
    match next_hop, outcome:
        case DeadLetter(), Rejected(code=code) if code in _FOR_GOOD:
            return None
        case DeadLetter(), _:
            return True
        case _, Succeeded():
            return False
        case _:
            return None
