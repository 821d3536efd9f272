"""The pace of a replay: so many a second, evenly, in batches that are bounded in number and bytes. Pure."""

from __future__ import annotations

from typing import Final

from outbox.payload import MAX_PAYLOAD_BYTES

__all__ = [
    "DEFAULT_RATE_PER_S",
    "LARGEST_BATCH_BYTES",
    "LEAST_RATE_PER_S",
    "MOST_RATE_PER_S",
    "Pace",
    "batch_size",
    "surely_fitting",
]

DEFAULT_RATE_PER_S: Final = 100.0

LEAST_RATE_PER_S: Final = 0.1
MOST_RATE_PER_S: Final = 10_000.0
_LARGEST_BATCH: Final = 500
LARGEST_BATCH_BYTES: Final = 8 * 1024 * 1024
"""A batch ends at so many bytes of payload: it is held in memory, by each of a process's threads."""


def batch_size(rate_per_s: float) -> int:
    """How many are sent before progress is stored: what a second takes, and not more than can be looked for again.

    >>> [batch_size(rate) for rate in (0.1, 100.0, 10_000.0)]
    [1, 100, 500]
    """
    return max(1, min(_LARGEST_BATCH, round(rate_per_s)))


def surely_fitting(payload_bytes: int) -> int:
    """How many records more fit into a batch that has so many bytes, however large they are.

    >>> (
    ...     surely_fitting(0),
    ...     surely_fitting(LARGEST_BATCH_BYTES - MAX_PAYLOAD_BYTES),
    ...     surely_fitting(LARGEST_BATCH_BYTES),
    ... )
    (8, 1, 0)
    """
    return max(0, LARGEST_BATCH_BYTES - payload_bytes) // MAX_PAYLOAD_BYTES


class Pace:
    """Says how long to wait before the next one. Time that was lost is not caught up: no burst follows a pause.

    >>> pace = Pace(10.0)
    >>> [round(pace.wait_s(now_s), 3) for now_s in (5.0, 5.0, 5.05, 9.0, 9.0)]
    [0.0, 0.1, 0.15, 0.0, 0.1]
    """

    __slots__ = ("_interval_s", "_next_s")

    def __init__(self, rate_per_s: float) -> None:
        self._interval_s = 1.0 / rate_per_s
        self._next_s = 0.0

    def wait_s(self, now_s: float) -> float:
        """Take the next place, and say how long it is until then."""
        at_s = max(self._next_s, now_s)
        self._next_s = at_s + self._interval_s
        return at_s - now_s
