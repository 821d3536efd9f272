"""Faults of the receiver: it refuses and resets, or stands still. What single endpoints do is in the load itself."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import ClassVar

from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["ReceiverFrozen", "ReceiverRefuses"]


@dataclass(frozen=True, slots=True)
class ReceiverRefuses(Kind):
    """Every connection is reset and every new one refused, for some seconds."""

    called: ClassVar[str] = "receiver refuses"

    def strike(self, site: Site) -> Fault:
        lasts_s = site.rng.uniform(3.0, 5.0)
        began_ms = now_ms()
        site.fleet.send_signal("receiver", signal.SIGUSR1)
        time.sleep(lasts_s)
        site.fleet.send_signal("receiver", signal.SIGUSR2)
        return self.fault(f"for {lasts_s:.1f} s", began_ms=began_ms, healed_ms=now_ms())


@dataclass(frozen=True, slots=True)
class ReceiverFrozen(Kind):
    """Connections are taken by the kernel, and nobody answers; then all answers come late."""

    called: ClassVar[str] = "receiver frozen"

    def strike(self, site: Site) -> Fault:
        lasts_s = site.rng.uniform(3.0, 6.0)
        began_ms = now_ms()
        site.fleet.send_signal("receiver", signal.SIGSTOP)
        time.sleep(lasts_s)
        site.fleet.send_signal("receiver", signal.SIGCONT)
        return self.fault(f"for {lasts_s:.1f} s", began_ms=began_ms, healed_ms=now_ms())
