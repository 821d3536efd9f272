"""Things per second, from the moments at which they happened. Pure."""

from collections.abc import Sequence

__all__ = ["rate_per_s"]


def rate_per_s(ascending_s: Sequence[float], *, skip: int) -> float | None:
    """How many a second, from the moment of the last one skipped to the last of all.

    What is skipped is the warm-up; of a worker that polls it is one batch, so that whole batches and the pauses
    before them are counted. None where fewer than two are left, or all happened at once.

    >>> rate_per_s([0.0, 0.1, 0.2, 0.3], skip=1)
    10.0
    """
    counted = len(ascending_s) - skip
    if skip < 1 or counted < 1:
        return None
    took_s = ascending_s[-1] - ascending_s[skip - 1]
    return round(counted / took_s, 6) if took_s > 0 else None
