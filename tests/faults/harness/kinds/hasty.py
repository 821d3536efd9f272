"""A fault that the next one doesn't wait for: several of them are a storm, in which recoveries can't be told apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind
from tests.faults.harness.site import Site

__all__ = ["Hasty"]


@dataclass(frozen=True, slots=True)
class Hasty(Kind):
    """Another fault, without the rest after it, and without a limit for its recovery."""

    fault_kind: Kind
    called: ClassVar[str] = "storm"
    recovery_limit_s: float | None = None
    waits: bool = False

    def strike(self, site: Site) -> Fault:
        fault = self.fault_kind.strike(site)
        return replace(
            fault, kind=self.name, detail=f"{fault.kind}: {fault.detail}", recovery_limit_s=None, problems=()
        )
