"""What processes use: CPU seconds and memory of whole process families, one name each."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

__all__ = ["CpuUsed", "cpu_seconds", "cpu_used", "memory_mb"]

Family = Mapping[str, int]
"""Names of families, and the process id of each one's eldest."""


@dataclass(frozen=True, slots=True)
class CpuUsed:
    """CPU seconds by family, user and system time."""

    seconds: Mapping[str, float]

    def per_thousand(self, count: int) -> dict[str, float]:
        """Give seconds for each thousand of what was done `count` times."""
        return {name: seconds * 1000 / count for name, seconds in self.seconds.items()}


def cpu_seconds(families: Family) -> dict[str, float]:
    """Read what each family has used since it began. Children that ended count with the parent that waited for them."""
    return {name: sum(map(_seconds, _members(pid))) for name, pid in families.items()}


def cpu_used(before: Mapping[str, float], after: Mapping[str, float]) -> CpuUsed:
    """Give the difference between two readings.

    >>> cpu_used({"worker": 1.0}, {"worker": 3.5}).per_thousand(5_000)
    {'worker': 0.5}
    """
    return CpuUsed({name: after[name] - before[name] for name in before})


def memory_mb(pid: int) -> float:
    """Read a family's memory in megabytes. Shared pages are divided among their sharers, where the system says how."""
    total_bytes = 0
    for process in _members(pid):
        with suppress(psutil.Error):
            try:
                total_bytes += process.memory_full_info().pss
            except (AttributeError, psutil.AccessDenied):
                total_bytes += process.memory_info().rss
    return total_bytes / 1e6


def _members(pid: int) -> list[psutil.Process]:
    try:
        eldest = psutil.Process(pid)
        return [eldest, *eldest.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    waited_for = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return float(times.user + times.system + waited_for)
