"""A run: load flows, the faults come one after the other, everything ends, and the judge is asked."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.faults.harness.evidence import gather
from tests.faults.harness.facts import Fault, Resources
from tests.faults.harness.ground import Ground
from tests.faults.harness.judge import Line, Verdict, judge
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.mutants import MUTANTS
from tests.faults.harness.processes import Fleet
from tests.faults.harness.site import Site, open_site

__all__ = ["Ran", "run_faults", "turns_red"]

#: How long a fault may be felt before the next one comes all the same; the verdict tells.
_NORMAL_LIMIT_S = 60.0
#: How long what was committed may take to its end after the load has ended.
_END_LIMIT_S = 90.0
#: What fails for good takes so long to use up its attempts.
_STALLED_S = 30.0
_QUIET_S = (1.0, 3.0)
_MUTANT_RATE = 60.0
#: A mutant has lost what it lost: waiting longer brings none of it.
_MUTANT_PATIENCE_S = 15.0
_MUTANT_SETTLE_S = 3.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a run."""

    seed: int
    verdict: Verdict
    resources: Sequence[Resources]
    logs: str
    lasted_s: float


def run_faults(  # noqa: PLR0913 - what a run is
    ground: Ground,
    kinds: Sequence[Kind],
    *,
    seed: int,
    rate: float,
    tell: Tell,
    mutant: str = "none",
    patience_s: float = _END_LIMIT_S,
    settle_s: float = _STALLED_S,
) -> Ran:
    """Do these faults to a system under load, and judge."""
    began_s = time.monotonic()
    with open_site(ground, seed=seed, rate=rate, mutant=mutant) as site:
        tell("the load flows")
        flowed_ms = now_ms()
        before = _samples(site.fleet)
        normal_s = _NORMAL_LIMIT_S if mutant == "none" else _MUTANT_PATIENCE_S
        faults = [_strike(site, kind, tell=tell, limit_s=normal_s) for kind in kinds]
        site.load.end()
        tell(f"{site.pulse.committed} events were committed; waiting for the last of them")
        if not site.pulse.wait(lambda: site.pulse.awaited() == 0, limit_s=patience_s):
            tell(f"{site.pulse.awaited()} deliveries did not come within {patience_s:g} s")
        calm_ms = now_ms()
        faults = [replace(fault, calm_ms=fault.calm_ms or calm_ms) for fault in faults]
        time.sleep(settle_s)  # what was meant to fail uses up its attempts
        after = _samples(site.fleet)
        ended_ms = now_ms()
        for name in [*site.fleet.names("worker"), *site.fleet.names("scheduler")]:
            site.fleet.retire(name)
        if not site.pulse.wait(lambda: site.unlogged() == 0, limit_s=patience_s):
            tell(f"{site.unlogged()} attempts did not come into the log within {patience_s:g} s")
        site.fleet.stop()
        evidence = gather(site, faults, flowed_ms=flowed_ms, ended_ms=ended_ms)
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


def turns_red(ground: Ground, mutant: str, *, seed: int, tell: Tell) -> Line:
    """Run with a rule broken, under the faults that bring it out, and give the line that must not hold."""
    broken = MUTANTS[mutant]
    ran = run_faults(
        ground,
        broken.shown_by,
        seed=seed,
        rate=_MUTANT_RATE,
        tell=tell,
        mutant=mutant,
        patience_s=_MUTANT_PATIENCE_S,
        settle_s=_MUTANT_SETTLE_S,
    )
    return ran.verdict.line(broken.turns_red)


def _strike(site: Site, kind: Kind, *, tell: Tell, limit_s: float) -> Fault:
    fault = kind.strike(site)
    if not kind.waits:
        tell(f"{fault.kind}: {fault.detail}")
        time.sleep(site.rng.uniform(*_QUIET_S))
        return fault
    felt_until_ms = fault.healed_ms + kind.felt_for_s * 1000
    site.pulse.wait(lambda: now_ms() > felt_until_ms, limit_s=limit_s)
    normal = site.pulse.wait(site.is_normal, limit_s=limit_s)
    problems = fault.problems if normal else (*fault.problems, f"not as before within {limit_s:g} s")
    fault = replace(fault, calm_ms=now_ms(), problems=problems)
    tell(f"{fault.kind}: {fault.detail}" + "".join(f"; {problem}" for problem in problems))
    time.sleep(site.rng.uniform(*_QUIET_S))
    return fault


_Samples = dict[str, tuple[float, int, int, int]]


def _samples(fleet: Fleet) -> _Samples:
    found = {name: (m.sample(), m.started) for name, m in fleet.members.items() if m.wanted}
    return {name: (*sample, starts) for name, (sample, starts) in found.items() if sample is not None}


def _compared(before: _Samples, after: _Samples) -> list[Resources]:
    return [
        Resources(
            name=name,
            rss_mb=(before[name][0], after[name][0]),
            descriptors=(before[name][1], after[name][1]),
            threads=(before[name][2], after[name][2]),
            restarted=before[name][3] != after[name][3],
        )
        for name in before
        if name in after
    ]
