"""The verdict as a person reads it: tables on the terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.faults.harness.judge import FaultLine
from tests.faults.harness.run import Ran
from tests.faults.harness.soak import Trend

__all__ = ["show", "show_trends"]


def show(ran: Ran, console: Console) -> None:
    """Print it."""
    verdict = ran.verdict
    for table in (_faults(verdict.faults), _recovery(verdict.faults), _resources(ran), _rules(ran)):
        if table.row_count:
            console.print(table)
    console.print(", ".join(f"{count:,} {what}" for what, count in verdict.counts.items()))
    outcome = "everything holds" if verdict.holds else "RED"
    console.print(f"{outcome}; seed {ran.seed}, {ran.lasted_s:.0f} s, logs in {ran.logs}", soft_wrap=True)


def show_trends(found: Sequence[Trend], console: Console) -> None:
    """Print what became of each process."""
    table = Table("process", "figure", "early", "middle", "late", "most", title="Over the time")
    for trend in found:
        numbers = (trend.early, trend.middle, trend.late, trend.most)
        style = "" if trend.flat else "bold red"
        table.add_row(trend.process, trend.figure, *(f"{number:,.0f}" for number in numbers), style=style)
    console.print(table)


def _rules(ran: Ran) -> Table:
    table = Table("must be zero", "found", "for example", title="Verdict")
    for line in ran.verdict.lines:
        style = "" if line.holds else "bold red"
        table.add_row(line.rule, str(line.count), "\n".join(line.examples[:3]), style=style)
    return table


def _faults(faults: Sequence[FaultLine]) -> Table:
    table = Table(
        "fault", "what was done", "recovered in", "repeated", "of at most", title="Faults, in order"
    )
    for line in faults:
        table.add_row(
            line.fault.kind,
            line.fault.detail,
            f"{line.recovery_s:.1f} s",
            str(line.repeated),
            str(line.repeatable) if line.fault.repeats is not None else "0",
            style="" if line.in_time else "bold red",
        )
    return table


def _recovery(faults: Sequence[FaultLine]) -> Table:
    table = Table("fault", "times", "p50", "max", "limit", title="Time to recover")
    by_kind: dict[str, list[FaultLine]] = defaultdict(list)
    for line in faults:
        by_kind[line.fault.kind].append(line)
    for kind, lines in sorted(by_kind.items()):
        took_s = [line.recovery_s for line in lines]
        limit_s = lines[0].fault.recovery_limit_s
        table.add_row(
            kind,
            str(len(took_s)),
            f"{median(took_s):.1f} s",
            f"{max(took_s):.1f} s",
            "" if limit_s is None else f"{limit_s:g} s",
        )
    return table


def _resources(ran: Ran) -> Table:
    table = Table("process", "memory", "descriptors", "threads", title="At the start and at the end")
    for found in ran.resources:
        table.add_row(
            found.name + (" (restarted meanwhile)" if found.restarted else ""),
            "{:.0f} → {:.0f} MB".format(*found.rss_mb),
            "{} → {}".format(*found.descriptors),
            "{} → {}".format(*found.threads),
        )
    return table
