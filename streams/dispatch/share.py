"""A worker's share of what is meant for all workers together: that of the partitions of `outbox.events` that it owns.

Place in the data's way: told at each rebalance, it cuts the limits of endpoints down to this worker. Workers never talk
to each other; keys spread evenly over the partitions, and so does the work for an endpoint. Pure.
"""

from dataclasses import dataclass

__all__ = ["WHOLE", "Share"]


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many partitions.

    >>> Share(2, 6).of_rate(3.0), Share(2, 6).of_concurrency(10), Share(2, 6).of_concurrency(1)
    (1.0, 3, 1)
    """

    owned: int
    of: int

    def of_rate(self, per_s: float) -> float:
        """Exactly the share. A worker that owns nothing makes no attempt, and is counted as if it owned one."""
        return per_s * max(self.owned, 1) / max(self.of, 1)

    def of_concurrency(self, attempts: int) -> int:
        """The share, rounded down, and one at least: all workers together have no more, unless they are more."""
        return max(attempts * self.owned // max(self.of, 1), 1)


WHOLE = Share(1, 1)
"""Until a worker knows better."""
