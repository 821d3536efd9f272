"""What the dispatcher needs of a target: its name, its limits, its retry policy, and one attempt at a time."""

from typing import Protocol

from streams.records.delivery import Delivery
from streams.records.outcome import Outcome
from streams.records.target import TargetName
from streams.retry.policy import RetryPolicy

__all__ = ["Target"]


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
    def policy(self) -> RetryPolicy:
        """Its budgets and backoff."""
        ...

    async def attempt(self, delivery: Delivery) -> Outcome:
        """Make one attempt.

        Failures are outcomes; the only exception that may leave is CancelledError, when cut off.
        """
        ...
