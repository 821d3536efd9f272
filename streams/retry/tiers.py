"""Retry tiers and their lanes: a delay topic per tier, and a partition per delay within it.

A delay topic is a queue only if everything in one partition waits equally long. So a partition *is* a delay: of P
lanes, lane i of tier T holds its records for `T·(0.5 + 0.5·(i+1)/P)`. Choosing the lane at random is the jitter, every
partition stays in due order, and no early record stands behind a late one (docs/adr/0003).

Pure: randomness comes in as a function, time not at all.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from streams.topics import retry_topic

__all__ = ["Lane", "RetryTiers"]


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """One partition of one tier's topic, and how long it holds each of its records."""

    hold_ms: int
    topic: str
    partition: int


class RetryTiers:
    """All lanes of all tiers, ordered by how long they hold.

    Args:
        delays: the tiers, ascending.
        lanes: partitions of each tier's topic.
    """

    def __init__(self, delays: Sequence[timedelta], *, lanes: int) -> None:
        if not delays or lanes < 1:
            raise ValueError("at least one tier and one lane are needed")
        if list(delays) != sorted(set(delays)):
            raise ValueError("retry tiers must ascend and differ")
        tier_ms = [(retry_topic(delay), round(delay.total_seconds() * 1000)) for delay in delays]
        self.topics: tuple[str, ...] = tuple(topic for topic, _ in tier_ms)
        self.lanes: tuple[Lane, ...] = tuple(
            sorted(
                Lane(hold_ms=_hold_ms(delay_ms, lane=lane, lanes=lanes), topic=topic, partition=lane)
                for topic, delay_ms in tier_ms
                for lane in range(lanes)
            )
        )
        self._holds_ms = [lane.hold_ms for lane in self.lanes]
        self._longest_tier = tuple(lane for lane in self.lanes if lane.topic == self.topics[-1])

    @property
    def longest_ms(self) -> int:
        """What the last lane holds: a longer wait takes laps."""
        return self._holds_ms[-1]

    def jittered(self, delay_ms: int, *, random: Callable[[], float]) -> Lane:
        """A random lane that holds within (delay/2, delay]; the shortest lane where none is that short.

        The jitter of the polling worker, in (0.5, 1.0], in steps of one lane. `random` returns a float in [0, 1).
        """
        first = bisect_right(self._holds_ms, delay_ms // 2)
        last = bisect_right(self._holds_ms, delay_ms)
        if first == last:
            # Tiers so far apart that no lane falls into the range: draw the jitter, and never hold for less.
            return self.at_least(round(delay_ms * (1.0 - random() / 2)))
        return self.lanes[first + int(random() * (last - first))]

    def at_least(self, wait_ms: int) -> Lane:
        """The shortest lane that is not shorter than the wait; the longest of all where every lane is shorter."""
        return self.lanes[min(bisect_left(self._holds_ms, wait_ms), len(self.lanes) - 1)]

    def at_most(self, wait_ms: int) -> Lane:
        """The longest lane that is not longer than the wait; the shortest of all where every lane is longer."""
        return self.lanes[max(bisect_right(self._holds_ms, wait_ms) - 1, 0)]

    def lap(self, *, random: Callable[[], float]) -> Lane:
        """A random lane of the longest tier, for a wait that no lane can hold at once."""
        return self._longest_tier[int(random() * len(self._longest_tier))]


def _hold_ms(delay_ms: int, *, lane: int, lanes: int) -> int:
    return round(delay_ms * (0.5 + 0.5 * (lane + 1) / lanes))
