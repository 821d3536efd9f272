"""Faults between a worker and its broker: connections that drop, and a worker that is cut off from everything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from tests.faults.harness.facts import Fault
from tests.faults.harness.ground import Ground
from tests.faults.harness.kinds.kind import SESSION_S, Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["Dropped", "Partitioned"]

_BEFORE_THE_END_S = 1.0
_BETWEEN_S = 0.7


@dataclass(frozen=True, slots=True)
class Dropped(Kind):
    """All connections between the far worker and the broker are reset, some times in a row. No session ends by it."""

    times: int = 3
    called: ClassVar[str] = "connections dropped"
    lasting: bool = True
    felt_for_s: float = 3.0

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        for _ in range(self.times):
            site.ground.proxy.cut()
            time.sleep(site.rng.uniform(0.2, 2 * _BETWEEN_S))
        return self.fault(f"{self.times} times, all at once", began_ms=began_ms, healed_ms=now_ms())


@dataclass(frozen=True, slots=True)
class Partitioned(Kind):
    """The far worker's packets go nowhere for longer than its session, to the broker nor to any receiver."""

    called: ClassVar[str] = "partitioned"
    felt_for_s: float = SESSION_S + 1.0

    def strike(self, site: Site) -> Fault:
        lasts_s = SESSION_S + site.rng.uniform(2.0, 5.0)
        ground = site.ground
        began_ms = now_ms()
        hit = site.partitions_of("worker-far")
        with _parted(ground):
            time.sleep(SESSION_S - _BEFORE_THE_END_S)
            # Until its session ends nobody else commits for its partitions, and it can't.
            commits = site.commits("worker", of=hit)
            time.sleep(lasts_s - (now_ms() - began_ms) / 1000)
        return self.fault(
            f"worker-far alone for {lasts_s:.1f} s",
            began_ms=began_ms,
            healed_ms=began_ms + SESSION_S * 1000,
            problems=() if hit else ("worker-far had no partitions",),
            repeats=commits,
            # Its lease lasts as long as its session: until then it begins attempts, whose requests may arrive later.
            struck_ms=(began_ms, began_ms + SESSION_S * 1000),
        )


@contextmanager
def _parted(ground: Ground) -> Iterator[None]:
    part, join = (
        (ground.namespace.part, ground.namespace.join)
        if ground.namespace is not None
        else (ground.proxy.stall, ground.proxy.flow)
    )
    part()
    try:
        yield
    finally:
        join()
