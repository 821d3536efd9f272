"""Commit → receipt latency: from the commit's return in the shop to the first receipt at the healthy endpoint. Pure.

Both times are of one process and one monotonic clock.
"""

import math
from collections.abc import Sequence

from demo.evidence import Evidence

__all__ = ["latencies_ms", "percentile"]


def latencies_ms(evidence: Evidence, *, target: str) -> tuple[float, ...]:
    """One latency for each committed event that this endpoint got, in the order of the commits."""
    first: dict[str, int] = {}
    for receipt in evidence.receipts:
        if receipt.target == target:
            first.setdefault(receipt.event_id, receipt.at_ns)
    return tuple(
        (first[event.event_id] - event.at_ns) / 1e6 for event in evidence.committed if event.event_id in first
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: the least value that this share of all values doesn't exceed; NaN of none.

    >>> percentile([30.0, 10.0, 20.0, 40.0], 50), percentile([30.0, 10.0, 20.0, 40.0], 99)
    (20.0, 40.0)
    """
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(percent / 100 * len(values)), 1) - 1]
