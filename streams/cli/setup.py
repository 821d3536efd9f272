"""`outbox setup`: migrations, replication slot, topics, connector; says what it changes, or would change.

Place in the data's way: run before the first event, and after every change of version or settings.
Idempotent.
"""

import asyncio
import json
from typing import Annotated

import typer

from connectors.counted import counted
from streams.cli.errors import said_plainly
from streams.settings import load_settings
from streams.setup import Plan, run_setup
from streams.setup.steps import Step

__all__ = ["setup"]

_NEEDS = ("database_url", "kafka_bootstrap_servers", "connect_url")


def setup(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be changed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
) -> None:
    """Bring Postgres, Kafka and Kafka Connect to the wanted state; print what is changed."""
    with said_plainly():
        settings = load_settings(needs=_NEEDS)
        tell = _nothing if as_json else _tell
        plan = asyncio.run(run_setup(settings, dry_run=dry_run, on_step=tell))
    if as_json:
        typer.echo(json.dumps(_as_json(plan, dry_run=dry_run)))
        return
    if dry_run:
        for step in plan.steps:
            typer.echo(f"would {step}")
    for warning in plan.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(_summary(plan, dry_run=dry_run))


def _tell(step: Step) -> None:
    typer.echo(f"done: {step}")


def _nothing(_step: Step) -> None:
    """Say nothing: the JSON object at the end says it."""


def _summary(plan: Plan, *, dry_run: bool) -> str:
    if not plan.steps:
        return "nothing to change"
    changes = counted(len(plan.steps), "change")
    return f"{changes} planned, nothing changed" if dry_run else f"{changes} made; Debezium streams"


def _as_json(plan: Plan, *, dry_run: bool) -> dict[str, object]:
    changes = [{"kind": type(step).__name__, "change": str(step)} for step in plan.steps]
    return {"dry_run": dry_run, "changes": changes, "warnings": list(plan.warnings)}
