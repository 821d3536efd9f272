"""No fault: load, and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["Nothing"]


@dataclass(frozen=True, slots=True)
class Nothing(Kind):
    """What happens when nothing happens: for the soak, and for rules that break without any fault."""

    lasts_s: float
    called: ClassVar[str] = "nothing"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        site.pulse.wait(lambda: now_ms() > began_ms + self.lasts_s * 1000, limit_s=self.lasts_s)
        return self.fault(f"for {self.lasts_s:g} s", began_ms=began_ms, healed_ms=now_ms())
