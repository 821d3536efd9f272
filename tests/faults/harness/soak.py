"""A soak: a steady rate for as long as told, failing endpoints among the load, and whether anything grows meanwhile.

The verdict on deliveries is the same as that on faults. Beside it, every few seconds, what each process takes and how
far the readers are behind. Flat is what, in the median of the last sixth of the time, is no more than in the second
sixth, but for a tenth and a little; the first sixth is for caches and connections to fill. Lag and lateness have a
bound besides, for every moment.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from streams import topics
from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.site import Site
from tests.faults.harness.task_count import tasks_of

__all__ = ["Series", "Soaking", "Trend", "trends"]

_EVERY_S = 10.0
_ANSWER_S = 15.0
#: What each figure may be above a tenth more and still be called flat.
_SLACK: Final[Mapping[str, float]] = {
    "memory, MB": 6.0,
    "descriptors": 12.0,
    "threads": 1.0,
    "tasks": 30.0,
    "lag, records": 200.0,
    "late, deliveries": 20.0,
}

#: What these may never be above, not even for a moment.
_MOST: Final[Mapping[str, float]] = {"lag, records": 2_000.0, "late, deliveries": 200.0}

#: The values of one figure of one process, in order of time.
Series = dict[tuple[str, str], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """One figure of one process over a soak: medians of the second, the middle and the last sixth, and its maximum."""

    process: str
    figure: str
    early: float
    middle: float
    late: float
    most: float

    @property
    def flat(self) -> bool:
        within = self.most <= _MOST.get(self.figure, self.most)
        return within and self.late <= self.early * 1.1 + _SLACK[self.figure]


def trends(series: Mapping[tuple[str, str], Sequence[float]]) -> list[Trend]:
    """What became of each figure. Pure."""
    found = []
    for (process, figure), values in sorted(series.items()):
        sixth = max(len(values) // 6, 1)
        half = len(values) // 2
        found.append(
            Trend(
                process=process,
                figure=figure,
                early=median(values[sixth : 2 * sixth] or values),
                middle=median(values[half - sixth // 2 : half + sixth // 2 + 1] or values),
                late=median(values[-sixth:]),
                most=max(values),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class Soaking(Kind):
    """Nothing is done, and everything is looked at."""

    lasts_s: float
    series: Series
    called: ClassVar[str] = "nothing"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms, began_s = now_ms(), time.monotonic()
        admin = AdminClient({"bootstrap.servers": site.kafka, "log_level": 4})
        while (elapsed_s := time.monotonic() - began_s) < self.lasts_s:
            self._look(site, admin)
            time.sleep(min(_EVERY_S, max(self.lasts_s - elapsed_s, 0.0)))
        return self.fault(f"for {self.lasts_s / 60:g} minutes", began_ms=began_ms, healed_ms=now_ms())

    def _look(self, site: Site, admin: AdminClient) -> None:
        seen: dict[tuple[str, str], float] = {}
        for name, member in site.fleet.members.items():
            sample = member.sample()
            if sample is not None and member.wanted and name != "receiver":
                seen[name, "memory, MB"], seen[name, "descriptors"], seen[name, "threads"] = sample
                seen[name, "tasks"] = tasks_of(site.logs, member.pid)
        seen["workers", "lag, records"] = _lag(site, admin)
        seen["all targets", "late, deliveries"] = site.pulse.late()
        for key, value in seen.items():
            self.series.setdefault(key, []).append(float(value))


def _lag(site: Site, admin: AdminClient) -> int:
    """Records of the topics that workers read which no commit's offset has passed."""
    commits = site.commits("worker").committed
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the stub forgot it
    asked = {TopicPartition(*partition): latest for partition in commits}
    behind: dict[str, int] = defaultdict(int)
    for tp, end in admin.list_offsets(asked).items():
        behind[tp.topic] += end.result(_ANSWER_S).offset - commits[tp.topic, tp.partition].offset
    return behind[topics.EVENTS] + behind[topics.REDELIVERY]
