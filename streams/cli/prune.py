"""`outbox prune`: deletes old rows of the outbox table that Debezium has surely read; for a CronJob, or by hand."""

from datetime import timedelta
from time import monotonic, sleep
from typing import Annotated

import typer

from connectors.counted import counted
from connectors.kafka_connect.connector import PUBLICATION_NAME, SLOT_NAME
from connectors.postgres.connection import connect
from streams.cli.errors import said_plainly
from streams.cli.shown import print_json, time_text
from streams.duration import parse_duration
from streams.prune import Clock, Pruned
from streams.prune import prune as prune_rows
from streams.settings import load_settings

__all__ = ["prune"]


def prune(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="Rows older than this go, such as 72h; else OUTBOX_ROW_RETENTION_HOURS."
        ),
    ] = None,
    wait: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="How long Debezium may take to confirm what is committed by now."
        ),
    ] = "1m",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them, and delete nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Delete old rows of the outbox table, none that the replication slot has not confirmed.

    Exits with 1 where it can't: the slot is missing or lost, or it doesn't come far enough in time. May be run at any
    time, and by two at once.
    """
    age = None if older_than is None else _duration(older_than, option="--older-than")
    patience = _duration(wait, option="--wait")
    with said_plainly():
        settings = load_settings(needs=("database_url",))
        with connect(settings.database_url.get_secret_value()) as connection:
            connection.autocommit = True
            pruned = prune_rows(
                connection,
                slot=SLOT_NAME,
                publication=PUBLICATION_NAME,
                older_than=timedelta(hours=settings.row_retention_hours) if age is None else age,
                wait=patience,
                dry_run=dry_run,
                clock=Clock(monotonic_s=monotonic, sleep=sleep),
            )
    if as_json:
        print_json(pruned.to_json())
    else:
        _tell(pruned)
    if pruned.held_up:
        typer.echo(_why_held_up(pruned, wait=wait), err=True)
        raise typer.Exit(1)


def _tell(pruned: Pruned) -> None:
    verb = "would be deleted" if pruned.dry_run else "deleted"
    typer.echo(f"{counted(pruned.deleted, 'row')} from before {time_text(pruned.before)} {verb}")
    if pruned.kept_unconfirmed:
        typer.echo(f"{counted(pruned.kept_unconfirmed, 'row')} kept: not confirmed by the slot")
    if pruned.kept_held:
        typer.echo(f"{counted(pruned.kept_held, 'row')} kept: locked by somebody, for now")
    if pruned.gap_ended_at is not None:
        typer.echo(
            f"{counted(pruned.kept_after_gap, 'row')} kept: some from before {time_text(pruned.gap_ended_at)}, when"
            " outbox setup closed a gap in the capture, may never have been sent. All stay until the retention has"
            " passed since (docs/howto/recover-a-lost-slot.md)"
        )
    typer.echo(f"The slot is {pruned.unconfirmed_bytes:,} bytes of WAL behind")


def _why_held_up(pruned: Pruned, *, wait: str) -> str:
    who = (
        "Debezium reads from it, and is behind, or busy with a large transaction: try again later, or with a longer"
        " --wait"
        if pruned.slot_active
        else "Nobody reads from it: `outbox doctor` says why"
    )
    return (
        f"outbox: within {wait}, the replication slot {SLOT_NAME} has not confirmed what was committed when this began,"
        f" and nothing was deleted. {who}."
    )


def _duration(text: str, *, option: str) -> timedelta:
    try:
        return parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(
            "write a whole number and ms, s, m or h, like 72h", param_hint=option
        ) from error
