"""Carrying out a redrive from the command line, and saying how it ended."""

import typer

from connectors.counted import counted
from connectors.postgres.stored_replay import Replay
from streams.cli.replay_run import carried_out
from streams.cli.shown import print_json
from streams.settings import Settings

__all__ = ["carry_out"]


def carry_out(settings: Settings, replay_id: str, *, as_json: bool) -> None:
    """Execute a redrive to its end, and say how it ended.

    Raises:
        typer.Exit: it failed, or was stopped, or Ctrl-C left it to others.
        PostgresError: as Postgres says.
    """
    replay = carried_out(settings, replay_id, go_on=f"outbox dead-letters redrive --resume {replay_id}")
    _say(replay, as_json=as_json)
    if replay.status != "done":
        raise typer.Exit(1)


def _say(replay: Replay, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "replay_id": replay.id,
                "status": replay.status,
                "events_to_read": replay.events_to_read,
                "sent": replay.sent,
                "skipped": replay.skipped,
                "warning": replay.warning,
                "error": replay.error,
            }
        )
        return
    typer.echo(f"{counted(replay.sent, 'dead letter')} redriven (replay {replay.id}, {replay.status})")
    for said in (replay.warning, replay.error):
        if said is not None:
            typer.echo(said, err=True)
