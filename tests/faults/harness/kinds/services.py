"""Faults of what we stand on: broker, Kafka Connect with Debezium, Postgres."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from devstack.service import ServiceName
from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import SESSION_S, THEIRS_S, Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["DiskFull", "ServiceDown"]

_HALT_S = 30.0
#: While no broker answers, nothing is committed, and a member may lose its partitions. It goes on until its lease ends.
_BLIND_MS = SESSION_S * 1000


@dataclass(frozen=True, slots=True)
class ServiceDown(Kind):
    """A service ends, by SIGKILL or as it likes to be ended, stays away for so long, and is started again."""

    service: ServiceName
    down_s: float
    killed: bool
    called: ClassVar[str] = "down"
    recovery_limit_s: float | None = THEIRS_S
    repeats_rows: ClassVar[bool] = True
    felt_for_s: float = SESSION_S + 4.0

    @property
    def name(self) -> str:
        return f"{self.service} {self.called}"

    def strike(self, site: Site) -> Fault:
        service = site.ground.stack.service(self.service)
        commits = site.commits("both")
        began_ms = now_ms()
        if self.killed:
            service.kill()
        else:
            service.terminate()
        time.sleep(self.down_s)
        healed_ms = now_ms()
        service.start()
        service.wait_ready()
        how = "killed" if self.killed else "stopped"
        repeats = commits if self.service == "kafka" else None
        return self.fault(
            f"{how}, away {self.down_s:g} s",
            began_ms=began_ms,
            healed_ms=healed_ms,
            repeats=repeats,
            struck_ms=(began_ms, began_ms + _BLIND_MS),
        )


@dataclass(frozen=True, slots=True)
class DiskFull(Kind):
    """The broker's disk takes no more: it halts by itself. There is room again, and it is started."""

    called: ClassVar[str] = "disk full"
    felt_for_s: float = SESSION_S + 4.0
    recovery_limit_s: float | None = THEIRS_S
    repeats_rows: ClassVar[bool] = True

    def strike(self, site: Site) -> Fault:
        from tests.support.disk_full import fill  # noqa: PLC0415

        broker = site.ground.stack.service("kafka")
        commits = site.commits("both")
        began_ms = now_ms()
        assert broker.pid is not None
        fill(broker.pid)
        halted = site.pulse.wait(lambda: broker.pid is None, limit_s=_HALT_S)
        if not halted:
            broker.kill()
        healed_ms = now_ms()
        broker.start()
        broker.wait_ready()
        return self.fault(
            "Kafka's; it halts, and has room again",
            began_ms=began_ms,
            healed_ms=healed_ms,
            repeats=commits,
            struck_ms=(began_ms, began_ms + _BLIND_MS),
            problems=() if halted else ("the broker went on",),
        )
