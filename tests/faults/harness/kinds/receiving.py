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


class _Signalled(Kind):
    """The receiver gets one signal, and some seconds later another that ends it."""

    hurt: ClassVar[signal.Signals]
    mend: ClassVar[signal.Signals]
    lasts_s: ClassVar[tuple[float, float]]

    def strike(self, site: Site) -> Fault:
        lasts_s = site.rng.uniform(*self.lasts_s)
        began_ms = now_ms()
        site.fleet.send_signal("receiver", self.hurt)
        time.sleep(lasts_s)
        site.fleet.send_signal("receiver", self.mend)
        return self.fault(f"for {lasts_s:.1f} s", began_ms=began_ms, healed_ms=now_ms())


@dataclass(frozen=True, slots=True)
class ReceiverRefuses(_Signalled):
    """Every connection is reset and every new one refused, for some seconds."""

    called: ClassVar[str] = "receiver refuses"
    hurt: ClassVar[signal.Signals] = signal.SIGUSR1
    mend: ClassVar[signal.Signals] = signal.SIGUSR2
    lasts_s: ClassVar[tuple[float, float]] = (3.0, 5.0)


@dataclass(frozen=True, slots=True)
class ReceiverFrozen(_Signalled):
    """Connections are taken by the kernel, and nobody answers; then all answers come late."""

    called: ClassVar[str] = "receiver frozen"
    hurt: ClassVar[signal.Signals] = signal.SIGSTOP
    mend: ClassVar[signal.Signals] = signal.SIGCONT
    lasts_s: ClassVar[tuple[float, float]] = (3.0, 6.0)
