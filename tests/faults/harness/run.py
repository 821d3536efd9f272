"""A run: load flows, the faults come one after the other, everything ends, and the judge is asked."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.faults.harness.evidence import gather
from tests.faults.harness.facts import Fault, Resources
from tests.faults.harness.ground import Ground
from tests.faults.harness.judge import Verdict, judge
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.processes import Fleet
from tests.faults.harness.site import Site, open_site

__all__ = ["Ran", "run_faults"]

#: How long a fault may be felt before the next one comes all the same; the verdict tells.
_NORMAL_LIMIT_S = 60.0
#: How long what was committed may take to its end after the load has ended.
_END_LIMIT_S = 90.0
_STALLED_S = 12.0
_QUIET_S = (1.0, 3.0)

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a run."""

    seed: int
    verdict: Verdict
    resources: Sequence[Resources]
    logs: str
    lasted_s: float


def run_faults(
    ground: Ground,
    kinds: Sequence[Kind],
    *,
    seed: int,
    rate: float,
    tell: Tell,
    mutant: str = "none",
    patience_s: float = _END_LIMIT_S,
) -> Ran:
    """Do these faults to a system under load, and judge."""
    began_s = time.monotonic()
    with open_site(ground, seed=seed, rate=rate, mutant=mutant) as site:
        tell("the load flows")
        site.pulse.wait_until_normal(limit_s=_NORMAL_LIMIT_S)
        before = _samples(site.fleet)
        faults = [_strike(site, kind, tell=tell) for kind in kinds]
        site.load.end()
        tell(f"{site.pulse.committed} events were committed; waiting for the last of them")
        if not site.pulse.wait(lambda: site.pulse.awaited() == 0, limit_s=patience_s):
            tell(f"{site.pulse.awaited()} deliveries did not come within {patience_s:g} s")
        time.sleep(_STALLED_S)  # what was meant to fail uses up its attempts
        after = _samples(site.fleet)
        ended_ms = now_ms()
        site.fleet.stop()
        evidence = gather(site, faults, ended_ms=ended_ms)
        # For whoever asks why: the run can be judged again without being run again.
        (site.logs / "evidence.pickle").write_bytes(pickle.dumps((evidence, site.behaviours)))
        verdict = judge(evidence, targets=site.behaviours)
        return Ran(
            seed=seed,
            verdict=verdict,
            resources=_compared(before, after),
            logs=str(site.logs),
            lasted_s=time.monotonic() - began_s,
        )


def _strike(site: Site, kind: Kind, *, tell: Tell) -> Fault:
    fault = kind.strike(site)
    normal = site.pulse.wait_until_normal(limit_s=_NORMAL_LIMIT_S)
    ended = "and all is as before" if normal else f"and {site.pulse.late()} deliveries are still late"
    tell(f"{fault.kind}: {fault.detail}, {ended}")
    time.sleep(site.rng.uniform(*_QUIET_S))
    return fault


def _samples(fleet: Fleet) -> dict[str, tuple[float, int, int]]:
    found = {name: member.sample() for name, member in fleet.members.items() if member.wanted}
    return {name: sample for name, sample in found.items() if sample is not None}


def _compared(
    before: dict[str, tuple[float, int, int]], after: dict[str, tuple[float, int, int]]
) -> list[Resources]:
    return [
        Resources(
            name=name,
            rss_mb=(before[name][0], after[name][0]),
            descriptors=(before[name][1], after[name][1]),
            threads=(before[name][2], after[name][2]),
        )
        for name in before
        if name in after
    ]
