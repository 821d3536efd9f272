"""The gate of one endpoint: its circuit, and its rate limit if it has one. An attempt begins where both let it.

Place in the data's way: what an endpoint's queue asks before an attempt begins, and tells how it ended. Pure; the
monotonic clock's reading is passed in, in seconds.
"""

from datetime import timedelta

from streams.dispatch.circuit import Begun, Circuit
from streams.dispatch.rate_limit import RateLimit
from streams.records.outcome import Deferred

__all__ = ["EndpointGate"]


class EndpointGate:
    """A circuit, and a rate limit or none."""

    __slots__ = ("_circuit", "_limit")

    def __init__(self, circuit: Circuit, limit: RateLimit | None = None) -> None:
        self._circuit = circuit
        self._limit = limit

    def hold_s(self, *, now_s: float, ahead: int = 0) -> float:
        """For how long no attempt may begin, once `ahead` others have; 0 if one may now."""
        hold_s = self._circuit.hold_s(now_s=now_s)
        return hold_s if self._limit is None else max(hold_s, self._limit.hold_s(now_s=now_s, ahead=ahead))

    def deferral(
        self, *, now_s: float, ahead: int, booked_in_s: float | None, bound_s: float, crowded: bool
    ) -> Deferred | None:
        """Why a delivery behind `ahead` others can't wait here for its attempt; None if it can."""
        if self._circuit.hold_s(now_s=now_s) > bound_s:
            away = timedelta(seconds=self._circuit.away_s(now_s=now_s))
            return Deferred(reason="the target's circuit is open", retry_after=away)
        if self._limit is None:
            return None
        booked_s = self._limit.put_off_s(
            now_s=now_s, ahead=ahead, booked_in_s=booked_in_s, bound_s=bound_s, crowded=crowded
        )
        if booked_s is None:
            return None
        # It had better be here a little before, and wait: a token that nobody takes is lost.
        early_s = max(booked_s - bound_s / 2, 0.0)
        return Deferred(
            reason="the endpoint's rate limit is reached",
            retry_after=timedelta(seconds=early_s),
            booked_in=timedelta(seconds=booked_s),
        )

    def began(self, *, now_s: float) -> Begun:
        """An attempt begins. Returns what `ended` is to be told with it."""
        if self._limit is not None:
            self._limit.took(now_s=now_s)
        return self._circuit.began(now_s=now_s)

    def ended(self, begun: Begun, *, failed: bool | None, now_s: float) -> None:
        """An attempt ended; None: it was cut off, and nothing is known."""
        self._circuit.ended(begun, failed=failed, now_s=now_s)
