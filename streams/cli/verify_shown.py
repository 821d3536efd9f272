"""How `outbox verify` shows what it found: the sum, the events that break it, and the exit code."""

from __future__ import annotations

from typing import Any, Final

import typer

from connectors.counted import counted
from streams.cli.shown import printable, time_text
from streams.verify.judgement import ACCOUNTED, REASONS
from streams.verify.report import Report, Source

__all__ = ["exit_code", "report_fields", "show_report"]

_SOURCES: Final[dict[Source, str]] = {
    "both": "outbox.outbox and outbox.events",
    "postgres": "outbox.outbox",
    "topic": "outbox.events",
}
_BROKEN: Final = 1
_UNKNOWN: Final = 2


def exit_code(report: Report) -> int:
    """0: all events are accounted for; 1: some are not; 2: of some it can't be said yet, and of no other."""
    if report.unaccounted:
        return _BROKEN
    return _UNKNOWN if report.unjudged else 0


def report_fields(report: Report) -> dict[str, Any]:
    """For programs."""
    return {
        "since": report.since,
        "until": report.until,
        "source": report.source,
        "committed": report.committed,
        "rows": report.rows,
        "on_kafka": report.on_kafka,
        **{verdict.value: report.verdicts[verdict] for verdict in ACCOUNTED},
        "unaccounted": report.unaccounted,
        "unjudged": report.unjudged,
        "reasons": {verdict.value: report.verdicts[verdict] for verdict in REASONS},
        "deliveries": dict(report.deliveries),
        "events": [
            {
                "id": str(event.id),
                "type": event.type,
                "created_at": event.created_at,
                "reason": event.verdict.value,
            }
            for event in report.events
        ],
        "not_judged": report.not_judged,
        "warnings": list(report.warnings),
        "exit_code": exit_code(report),
    }


def show_report(report: Report) -> None:
    """For people, and one line at the end for a log."""
    typer.echo(f"Events of {time_text(report.since)} to {time_text(report.until)} (UTC)")
    _counts({"committed": report.committed, "with a row": report.rows, "on Kafka": report.on_kafka})
    typer.echo()
    _counts({verdict.value: report.verdicts[verdict] for verdict in ACCOUNTED})
    _counts({"unjudged": report.unjudged} if report.unjudged else {})
    _counts({"unaccounted": report.unaccounted})
    _reasons(report)
    for said in (*report.warnings, report.not_judged):
        if said is not None:
            typer.echo(printable(said), err=True)
    typer.echo()
    typer.echo(_last_line(report))


def _reasons(report: Report) -> None:
    found = {verdict: report.verdicts[verdict] for verdict in REASONS if report.verdicts[verdict]}
    if not found:
        return
    typer.echo()
    for verdict, number in found.items():
        typer.echo(f"{verdict.value} ({number:,}): {REASONS[verdict]}")
    for event in report.events:
        when, what = time_text(event.created_at), printable(event.type)
        typer.echo(f"  {event.id}  {when}  {event.verdict.value:<14}  {what}")
    left = sum(found.values()) - len(report.events)
    if left > 0:
        typer.echo(f"  and {counted(left, 'other')}: see --limit")


def _last_line(report: Report) -> str:
    verdicts = report.verdicts
    minus = " - ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in ACCOUNTED)
    unjudged = f" - {report.unjudged} unjudged" if report.unjudged else ""
    return (
        f"verified against {_SOURCES[report.source]}: {report.committed} committed - {minus}{unjudged} "
        f"= {report.unaccounted} unaccounted"
    )


def _counts(numbers: dict[str, int]) -> None:
    for name, number in numbers.items():
        typer.echo(f"{name:<12} {number:>12,}")
