"""Faults of our own processes: killed, stopped, frozen past the session, scaled."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import SESSION_S, Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["Frozen", "Killed", "Scaled", "Terminated"]

Ours = Literal["worker", "scheduler"]
_SETTLE_S = 40.0


@dataclass(frozen=True, slots=True)
class Killed(Kind):
    """SIGKILL. Its supervisor starts another at once."""

    which: Ours
    name: ClassVar[str] = "killed"
    felt_for_s: ClassVar[float] = SESSION_S + 1.0

    def strike(self, site: Site) -> Fault:
        member = site.rng.choice(site.fleet.names(self.which))
        began_ms = now_ms()
        site.fleet.kill(member)
        struck_ms = began_ms, now_ms()
        # The broker holds its partitions for the session: nobody commits for them before this is read.
        commits = site.commits(self.which)
        return self.fault(f"kill -9 of {member}", began_ms=began_ms, repeats=commits, struck_ms=struck_ms)


@dataclass(frozen=True, slots=True)
class Terminated(Kind):
    """SIGTERM: a rolling restart. Nothing may be repeated."""

    which: Ours
    name: ClassVar[str] = "terminated"

    def strike(self, site: Site) -> Fault:
        member = site.rng.choice(site.fleet.names(self.which))
        began_ms = now_ms()
        site.fleet.terminate(member)
        return self.fault(f"SIGTERM of {member}", began_ms=began_ms, healed_ms=now_ms())


@dataclass(frozen=True, slots=True)
class Frozen(Kind):
    """SIGSTOP for longer than the session, then SIGCONT: a zombie, whose partitions are somebody else's."""

    which: Ours
    name: ClassVar[str] = "frozen"
    felt_for_s: ClassVar[float] = SESSION_S + 1.0

    def strike(self, site: Site) -> Fault:
        member = site.rng.choice(site.fleet.names(self.which))
        lasts_s = SESSION_S + site.rng.uniform(2.0, 5.0)
        began_ms = now_ms()
        site.fleet.send_signal(member, signal.SIGSTOP)
        struck_ms = began_ms, now_ms()
        commits = site.commits(self.which)
        time.sleep(lasts_s)
        site.fleet.send_signal(member, signal.SIGCONT)
        # Until the session is over, nobody can take its partitions: from then on recovery counts.
        healed_ms = began_ms + SESSION_S * 1000
        return self.fault(
            f"{member} frozen for {lasts_s:.1f} s",
            began_ms=began_ms,
            healed_ms=healed_ms,
            repeats=commits,
            struck_ms=struck_ms,
        )


@dataclass(frozen=True, slots=True)
class Scaled(Kind):
    """One worker, three, one again, under load. Nothing may be repeated."""

    name: ClassVar[str] = "scaled"

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        more = [f"worker-more-{index}-{round(began_ms)}" for index in (1, 2)]
        for name in more:
            site.add_worker(name)
        site.pulse.wait(lambda: all(site.fleet.members[n].runs for n in more), limit_s=_SETTLE_S)
        time.sleep(4.0)  # they join, and take their share
        site.pulse.wait_until_normal(limit_s=_SETTLE_S)
        for name in more:
            site.fleet.retire(name)
        return self.fault("two more workers come and go", began_ms=began_ms, healed_ms=now_ms())
