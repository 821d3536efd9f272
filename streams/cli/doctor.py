"""`outbox doctor`: checks a real environment for what bites later; exits with 1 on an error.

Place in the data's way: run by hand, by a deployment, or by a monitor (`--json`). Changes nothing.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from connectors.counted import counted
from streams.cli.errors import said_plainly
from streams.doctor import Finding, Severity, examine
from streams.settings import load_settings

__all__ = ["doctor"]

_NEEDS = ("database_url", "kafka_bootstrap_servers", "connect_url")
_MARKS = {
    Severity.OK: typer.style("ok     ", fg=typer.colors.GREEN),
    Severity.WARNING: typer.style("warning", fg=typer.colors.YELLOW),
    Severity.ERROR: typer.style("error  ", fg=typer.colors.RED),
}


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Write the findings as a JSON list.")] = False,
) -> None:
    """Check Postgres, Kafka, Kafka Connect and the clocks; exit with 1 on an error."""
    with said_plainly():
        findings = asyncio.run(examine(load_settings(needs=_NEEDS)))
    if as_json:
        typer.echo(json.dumps([finding.to_json() for finding in findings]))
    else:
        _print(findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise typer.Exit(code=1)


def _print(findings: Sequence[Finding]) -> None:
    for finding in findings:
        typer.echo(f"{_MARKS[finding.severity]} {finding.check}: {finding.what}")
        for label, text in (("why", finding.why), ("do", finding.do)):
            if text:
                typer.echo(f"          {label}: {text}")
    counts = Counter(finding.severity for finding in findings)
    typer.echo(f"{counted(counts[Severity.ERROR], 'error')}, {counted(counts[Severity.WARNING], 'warning')}")
