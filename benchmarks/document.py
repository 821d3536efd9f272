"""The page `docs/reference/benchmarks.md`: written whole from one run, never by hand. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.machine import Machine
from benchmarks.results import Results, comparison
from benchmarks.table import markdown

__all__ = ["Run", "page"]

_INTRODUCTION = (
    "Written by the benchmark itself, from one run, in which everything ran on this one machine: Postgres, Kafka,"
    " Kafka Connect with Debezium, the load, the receiver, and what is measured. `make bench` makes such a run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: how it was started, when, on what, and what it found."""

    command: str
    started_at: datetime
    took: timedelta
    machine: Machine
    results: Sequence[Results]


def page(run: Run, *, picture: str | None) -> str:
    """Write the page; `picture` is the path of the picture as seen from it."""
    parts = [
        "# Benchmarks",
        "",
        _INTRODUCTION,
        "",
        "| | |",
        "| :-- | :-- |",
        f"| Command | `{run.command}` |",
        f"| Started | {run.started_at:%Y-%m-%d %H:%M} UTC, took {run.took.total_seconds() / 60:.0f} min |",
        *(f"| {name} | {value} |" for name, value in run.machine.lines),
        "",
    ]
    if picture is not None:
        parts += [f"![Latency distributions of streaming and polling]({picture})", ""]
    side_by_side = comparison(list(run.results))
    if side_by_side:
        parts += ["## Side by side", ""]
        parts += [f"{markdown(table)}\n" for table in side_by_side]
    for results in run.results:
        parts += [f"## {results.heading}", "", results.method, ""]
        parts += [f"{markdown(table)}\n" for table in results.tables]
    return "\n".join(parts).rstrip() + "\n"
