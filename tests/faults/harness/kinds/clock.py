"""A fault of time: the scheduler's wall clock is stepped forward, back, and right again."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["ClockStepped"]


@dataclass(frozen=True, slots=True)
class ClockStepped(Kind):
    """A minute ahead, a minute behind, right again: no retry comes early, and none waits for the clock."""

    called: ClassVar[str] = "clock stepped"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        for seconds in (60.0, -60.0, 0.0):
            site.clock.set(seconds)
            time.sleep(4.0)
        return self.fault("the scheduler's, +60 s, −60 s, right", began_ms=began_ms, healed_ms=now_ms())
