"""Faults of our own processes: killed, stopped, frozen past the session, scaled."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import ClassVar, Literal

from tests.faults.harness.facts import Commits, Fault, Partition
from tests.faults.harness.kinds.kind import OURS_S, SESSION_S, Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["Frozen", "Killed", "RecorderAway", "Scaled", "Terminated"]

Ours = Literal["worker", "scheduler", "recorder"]
_TAKEOVER_S = 40.0
#: Shorter than the workers wait for an answer.
_QUEUING_S = 1.5
_CATCHING_UP_S = 0.5
#: What a load of some tens of events a second leaves on the way at any time.
_A_BATCH = 100


class _OfOurs(Kind):
    """A fault of one kind of process."""

    which: Ours

    @property
    def name(self) -> str:
        return f"{self.which} {self.called}"


@dataclass(frozen=True, slots=True)
class Killed(_OfOurs):
    """SIGKILL. Its supervisor starts another at once."""

    which: Ours
    called: ClassVar[str] = "killed"
    felt_for_s: float = SESSION_S + 1.0

    def strike(self, site: Site) -> Fault:
        member, hit = _victim(site, self.which)
        began_ms = now_ms()
        site.fleet.kill(member)
        struck_ms = began_ms, now_ms()
        if self.which == "recorder":
            return self.fault(f"kill -9 of {member}", began_ms=began_ms, problems=_wait_for_the_log(site))
        # The broker holds its partitions for the session: nobody commits for them before this is read.
        commits = site.commits(self.which, of=hit)
        return self.fault(f"kill -9 of {member}", began_ms=began_ms, repeats=commits, struck_ms=struck_ms)


@dataclass(frozen=True, slots=True)
class Terminated(_OfOurs):
    """SIGTERM: a rolling restart. Nothing may be repeated."""

    which: Ours
    called: ClassVar[str] = "terminated"
    lasting: bool = True
    #: A scheduler that is slow to start is felt by retries only, and the pulse waits long for those.
    felt_for_s: float = SESSION_S + 4.0

    def strike(self, site: Site) -> Fault:
        member, _ = _victim(site, self.which)
        began_ms = now_ms()
        site.fleet.terminate(member)
        healed_ms = now_ms()
        problems = _wait_for_the_log(site) if self.which == "recorder" else ()
        return self.fault(f"SIGTERM of {member}", began_ms=began_ms, healed_ms=healed_ms, problems=problems)


@dataclass(frozen=True, slots=True)
class RecorderAway(Kind):
    """No recorder for longer than anybody would like. Deliveries don't notice, and it catches up."""

    lasts_s: float
    called: ClassVar[str] = "recorder away"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        site.fleet.retire("recorder")
        time.sleep(self.lasts_s)
        behind = site.unlogged()
        site.fleet.want("recorder")
        problems = () if behind else ("nothing had to be caught up",)
        return self.fault(
            f"for {self.lasts_s:g} s, {behind} attempts behind",
            began_ms=began_ms,
            healed_ms=now_ms(),
            problems=problems + _wait_for_the_log(site),
        )


@dataclass(frozen=True, slots=True)
class Frozen(_OfOurs):
    """SIGSTOP for longer than the session, then SIGCONT: a zombie, whose partitions are somebody else's by then.

    It must commit nothing of them: their commits only go forward.
    """

    which: Ours
    called: ClassVar[str] = "frozen"
    felt_for_s: float = SESSION_S + 1.0

    def strike(self, site: Site) -> Fault:
        assert self.which != "recorder"  # it would only be late
        member, hit = _victim(site, self.which)
        if self.which == "worker":
            # Turns that have not begun queue up behind those that hang: a zombie must have something to do harm with.
            site.fleet.send_signal("receiver", signal.SIGSTOP)
            time.sleep(_QUEUING_S)
        began_ms = now_ms()
        site.fleet.send_signal(member, signal.SIGSTOP)
        if self.which == "worker":
            # Requests that it had sent are seen only now.
            site.fleet.send_signal("receiver", signal.SIGCONT)
            time.sleep(_CATCHING_UP_S)
        struck_ms = began_ms, now_ms()
        commits = site.commits(self.which, of=hit)
        time.sleep(SESSION_S + site.rng.uniform(1.0, 3.0))
        problems = () if self.which == "scheduler" else self._wait_for_takeover(site, member, hit)
        before = site.commits(self.which, of=hit)
        site.fleet.send_signal(member, signal.SIGCONT)
        thawed_ms = now_ms()
        time.sleep(2.0)
        problems += _gone_back(before, site.commits(self.which, of=hit))
        lasted_s = (thawed_ms - began_ms) / 1000
        # Until the session is over, nobody can take its partitions: from then on recovery counts. A scheduler is alone.
        healed_ms = thawed_ms if self.which == "scheduler" else began_ms + SESSION_S * 1000
        return self.fault(
            f"{member} frozen for {lasted_s:.1f} s",
            began_ms=began_ms,
            healed_ms=healed_ms,
            repeats=commits,
            struck_ms=struck_ms,
            problems=problems,
        )

    def _wait_for_takeover(
        self, site: Site, member: str, hit: frozenset[Partition] | None
    ) -> tuple[str, ...]:
        if not hit:
            return (f"{member} had no partitions",)
        others = [name for name in site.fleet.names(self.which) if name != member]
        taken = site.pulse.wait(
            lambda: any((site.partitions_of(name) or frozenset()) & hit for name in others),
            limit_s=_TAKEOVER_S,
        )
        return () if taken else (f"nobody took over the partitions of {member}",)


@dataclass(frozen=True, slots=True)
class Scaled(Kind):
    """One worker, three, one again, under load. Nothing may be repeated."""

    called: ClassVar[str] = "scaled"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        site.fleet.retire("worker-far")
        problems = self._settled(site, workers=1)
        more = [f"worker-more-{index}-{round(began_ms)}" for index in (1, 2)]
        for name in more:
            site.add_worker(name)
        problems += self._settled(site, workers=3)
        # The group is stable a moment before each of its members has said what it got.
        site.pulse.wait(lambda: all(site.partitions_of(name) for name in more), limit_s=OURS_S)
        problems += tuple(f"{name} got no partitions" for name in more if not site.partitions_of(name))
        time.sleep(1.0)  # all three at work
        for name in more:
            site.fleet.retire(name)
        problems += self._settled(site, workers=1)
        site.fleet.want("worker-far")
        problems += self._settled(site, workers=2)
        return self.fault(
            "one worker, three, one, two", began_ms=began_ms, healed_ms=now_ms(), problems=problems
        )

    def _settled(self, site: Site, *, workers: int) -> tuple[str, ...]:
        settled = site.pulse.wait(lambda: site.has_workers(workers), limit_s=_TAKEOVER_S)
        return () if settled else (f"not {workers} workers within {_TAKEOVER_S:g} s",)


def _victim(site: Site, which: Ours) -> tuple[str, frozenset[Partition] | None]:
    """A member to hurt: one that has partitions, where any has; and which. None stands for all."""
    names = site.fleet.names(which)
    if which != "worker":
        return site.rng.choice(names), None
    at_work = [name for name in names if site.partitions_of(name)]
    member = site.rng.choice(at_work or names)
    return member, site.partitions_of(member)


def _wait_for_the_log(site: Site) -> tuple[str, ...]:
    """The log is up to date again when the recorder is no further behind than one of its batches."""
    caught_up = site.pulse.wait(lambda: site.unlogged() < _A_BATCH, limit_s=OURS_S)
    return () if caught_up else (f"{site.unlogged()} attempts are not in the log after {OURS_S:g} s",)


def _gone_back(before: Commits, after: Commits) -> tuple[str, ...]:
    return tuple(
        f"the commit of {topic}/{number} went back"
        for (topic, number), commit in before.committed.items()
        if (topic, number) in (before.of or before.committed)
        and after.committed[topic, number].offset < commit.offset
    )
