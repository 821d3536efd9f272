"""When events happen: a Poisson process, computed before the load begins. Pure.

Not evenly spaced: arrivals every 20 ms keep in step with a worker that polls every 100 ms, and such a worker
would be measured at five of its moments only. Computed ahead, so that a slow system can't slow its own load
down and hide what that costs (coordinated omission).
"""

import random

__all__ = ["poisson_arrivals"]


def poisson_arrivals(*, rate_per_s: float, duration_s: float, rng: random.Random) -> tuple[float, ...]:
    """Give the moments, in seconds from the start, ascending, all before `duration_s`.

    >>> arrivals = poisson_arrivals(rate_per_s=50, duration_s=60, rng=random.Random(7))
    >>> 2_800 < len(arrivals) < 3_200
    True
    """
    moments: list[float] = []
    at_s = rng.expovariate(rate_per_s)
    while at_s < duration_s:
        moments.append(at_s)
        at_s += rng.expovariate(rate_per_s)
    return tuple(moments)
