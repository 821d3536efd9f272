"""The command `python -m benchmarks`: runs the sections on one stack, prints tables, and writes them down.

    .venv/bin/python -m benchmarks [latency throughput scheduler recorder baseline fairness verify] [--seconds N]
        [--short]

A whole run at full scale writes `docs/reference/benchmarks.md`. Any other is written to `.outbox/benchmarks`, which
is not committed. Nothing is asserted: whoever reads the figures judges them.
"""

import os
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.baseline import measure_baseline
from benchmarks.document import Run, page
from benchmarks.errors import BenchmarkError
from benchmarks.fairness import measure_fairness
from benchmarks.latency import measure_latency
from benchmarks.machine import look_at_machine
from benchmarks.picture import latency_picture
from benchmarks.recording import measure_recorder
from benchmarks.results import Results, comparison
from benchmarks.scale import Scale
from benchmarks.scheduling import measure_scheduler
from benchmarks.site import Site, open_site
from benchmarks.table import Table
from benchmarks.throughput import measure_throughput
from benchmarks.verifying import measure_verify
from devstack.errors import DevstackError
from streams.cli.stack_progress import shown_on

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parent.parent
_PUBLISHED = _ROOT / "docs" / "reference"
_UNPUBLISHED = _ROOT / ".outbox" / "benchmarks"
_LOG_WIDTH = 150
_QUIET_LOAD = 0.5
_PICTURE = "benchmarks/latency.svg"
_PICTURE_TITLE = "Commit → first byte at the receiver"


class Section(StrEnum):
    """What can be measured."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    SCHEDULER = "scheduler"
    RECORDER = "recorder"
    BASELINE = "baseline"
    FAIRNESS = "fairness"
    VERIFY = "verify"


_MEASURE: dict[Section, Callable[[Site, Scale], Results]] = {
    Section.LATENCY: measure_latency,
    Section.THROUGHPUT: measure_throughput,
    Section.SCHEDULER: measure_scheduler,
    Section.RECORDER: measure_recorder,
    Section.BASELINE: measure_baseline,
    Section.FAIRNESS: measure_fairness,
    Section.VERIFY: measure_verify,
}


def main(
    sections: Annotated[list[Section] | None, typer.Argument(help="Which; all of them by default.")] = None,
    *,
    seconds: Annotated[
        float | None, typer.Option(min=1, help="How long each timed phase lasts.", show_default="60 or 30")
    ] = None,
    short: Annotated[bool, typer.Option("--short", help="All in small: to see that it works.")] = False,
) -> None:
    """Measure latency, throughput, scheduler, recorder, the polling baseline, fairness and verify; print tables."""
    scale = Scale.short() if short else Scale()
    if seconds is not None:
        scale = scale.lasting(seconds)
    chosen = [section for section in Section if not sections or section in sections]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that everything is stopped
    console = Console()
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    try:
        run = _run(chosen, scale, console=console)
    except (BenchmarkError, DevstackError) as error:
        raise SystemExit(f"benchmarks: {error}") from error
    for table in comparison(list(run.results)):
        _print(console, table)
    whole = chosen == list(Section) and scale == Scale()
    written = _write(run, _PUBLISHED if whole else _UNPUBLISHED)
    console.print(f"written to {written}", highlight=False)


def _run(chosen: Sequence[Section], scale: Scale, *, console: Console) -> Run:
    started_at = datetime.now(UTC)
    results = []
    load_before = os.getloadavg()
    if load_before[0] > _QUIET_LOAD:
        console.print(
            f"the machine is busy (load {load_before[0]:.1f}): what else runs on it is in the figures"
        )
    with ExitStack() as everything:
        with shown_on(Console(stderr=True)) as on_progress:  # ends before anything is measured: it takes CPU
            site = everything.enter_context(open_site(on_progress))
        machine = look_at_machine(postgres_version=_postgres_version(site), load_before=load_before)
        for section in chosen:
            console.print(f"measuring: {section}", style="dim")
            found = _MEASURE[section](site, scale)
            results.append(found)
            console.rule(found.heading)
            for table in found.tables:
                _print(console, table)
    return Run(
        command=shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        started_at=started_at,
        took=datetime.now(UTC) - started_at,
        machine=machine,
        results=results,
    )


def _postgres_version(site: Site) -> str:
    with psycopg.connect(site.addresses.database_url) as connection:
        row = connection.execute("show server_version").fetchone()
    return str(row[0]) if row else "unknown"


def _write(run: Run, folder: Path) -> Path:
    curves = [curve for results in run.results for curve in results.curves if len(curve.latencies)]
    picture = folder / _PICTURE
    picture.parent.mkdir(parents=True, exist_ok=True)
    if curves:
        picture.write_text(latency_picture(_PICTURE_TITLE, curves), encoding="utf-8")
    document = folder / "benchmarks.md"
    document.write_text(page(run, picture=_PICTURE if curves else None), encoding="utf-8")
    return document


def _print(console: Console, table: Table) -> None:
    shown = RichTable(
        title=table.title, title_justify="left", caption="\n".join(table.notes), caption_justify="left"
    )
    for index, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if index else "left")
    for row in table.rows:
        shown.add_row(*row)
    console.print(shown)


if __name__ == "__main__":
    typer.run(main)
