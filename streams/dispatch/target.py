"""What the dispatcher needs of a target: its name, limits, gate and retry policy, and one attempt at a time."""

from typing import Protocol

from streams.dispatch.circuit import Begun
from streams.records.delivery import Delivery
from streams.records.outcome import Deferred, Outcome
from streams.records.target import TargetName
from streams.retry.policy import RetryPolicy

__all__ = ["Gate", "OpenGate", "Target"]


class Gate(Protocol):
    """Says whether an attempt may begin, and learns how attempts ended: an endpoint's circuit and rate limit."""

    def hold_s(self, *, now_s: float, ahead: int = 0) -> float:
        """For how long no attempt may begin, once `ahead` others have; 0 if one may now."""
        ...

    def deferral(
        self, *, now_s: float, ahead: int, booked_in_s: float | None, bound_s: float, crowded: bool
    ) -> Deferred | None:
        """Why a delivery can't wait here for its attempt; None if it can.

        Args:
            now_s: what the clock says.
            ahead: how many wait before it.
            booked_in_s: for when a rate limit has booked it, if one has.
            bound_s: how long one may wait here.
            crowded: those who wait here take more room than is good for others.
        """
        ...

    def began(self, *, now_s: float) -> Begun:
        """An attempt begins. Returns what `ended` is to be told with it."""
        ...

    def ended(self, begun: Begun, *, failed: bool | None, now_s: float) -> None:
        """An attempt ended; None: it was cut off, and nothing is known."""
        ...


_NEVER = Begun(0, 0.0)


class OpenGate:
    """Every attempt may begin at any time: a handler's."""

    __slots__ = ()

    def hold_s(self, *, now_s: float, ahead: int = 0) -> float:  # noqa: ARG002 - the gate's signature, here and below
        """Never."""
        return 0.0

    def deferral(
        self,
        *,
        now_s: float,  # noqa: ARG002
        ahead: int,  # noqa: ARG002
        booked_in_s: float | None,  # noqa: ARG002
        bound_s: float,  # noqa: ARG002
        crowded: bool,  # noqa: ARG002
    ) -> Deferred | None:
        """For no reason."""
        return None

    def began(self, *, now_s: float) -> Begun:  # noqa: ARG002
        """It is all the same."""
        return _NEVER

    def ended(self, begun: Begun, *, failed: bool | None, now_s: float) -> None:
        """It learns nothing."""


class Target(Protocol):
    """A handler or an endpoint, as the dispatcher sees it."""

    @property
    def name(self) -> TargetName:
        """Who it is, on the wire and in the log."""
        ...

    @property
    def concurrency(self) -> int:
        """How many of its attempts may run at once in this worker."""
        ...

    @property
    def limited(self) -> bool:
        """Whether somebody has limited its concurrency. Then a long queue says nothing of the worker's own pace."""
        ...

    @property
    def gate(self) -> Gate:
        """Whether an attempt may begin at all."""
        ...

    @property
    def policy(self) -> RetryPolicy:
        """Its budgets and backoff."""
        ...

    async def attempt(self, delivery: Delivery) -> Outcome:
        """Make one attempt.

        Failures are outcomes; the only exception that may leave is CancelledError, when cut off.
        """
        ...
