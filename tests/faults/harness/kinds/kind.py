"""A kind of fault: what is done to the site, and what the judge is told of it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import ClassVar

from tests.faults.harness.facts import Commits, Fault
from tests.faults.harness.site import Site

__all__ = ["OURS_S", "SESSION_S", "THEIRS_S", "Kind", "now_ms"]

#: How long recovery may take from the end of a process of ours, and of a broker, Connect or Postgres.
OURS_S = 15.0
#: The session timeout of the workers and the scheduler.
SESSION_S = 6.0
THEIRS_S = 30.0


def now_ms() -> float:
    return time.time() * 1000


class Kind(ABC):
    """One kind. `strike` does it once, and returns when what it took away is there again."""

    called: ClassVar[str]
    recovery_limit_s: float | None = OURS_S
    felt_for_s: float = 0.0
    """How long after it heals it may still begin to be felt: a session that ends, for a member that is gone."""
    waits: bool = True
    """Must all be as before, before the next fault comes?"""
    lasting: bool = False
    """Is the system there all the while, so that nothing may be late for long?"""
    repeats_rows: ClassVar[bool] = False
    """May the connector read rows again after it?"""

    @property
    def name(self) -> str:
        """What the verdict calls it, and `--only` takes."""
        return self.called

    @abstractmethod
    def strike(self, site: Site) -> Fault:
        """Do it."""

    def fault(
        self,
        detail: str,
        *,
        began_ms: float,
        healed_ms: float | None = None,
        repeats: Commits | None = None,
        struck_ms: tuple[float, float] | None = None,
        poisoned: int = 0,
        problems: tuple[str, ...] = (),
    ) -> Fault:
        """What to tell the judge."""
        return Fault(
            kind=self.name,
            detail=detail,
            began_ms=began_ms,
            healed_ms=began_ms if healed_ms is None else healed_ms,
            ended_ms=now_ms(),
            recovery_limit_s=self.recovery_limit_s,
            repeats=repeats,
            struck_ms=struck_ms or (began_ms, began_ms),
            lasting=self.lasting,
            repeats_rows=self.repeats_rows,
            poisoned=poisoned,
            problems=problems,
        )
