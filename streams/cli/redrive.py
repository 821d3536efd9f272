"""Carrying out a redrive from the command line: executed here, unless an API's replayer has it already; then followed.

Ctrl-C lets go of it: what was sent stays sent, and an API, or the command again with --resume, goes on with the rest.
"""

import threading
import time
from typing import Final

import typer

from connectors.counted import counted
from connectors.postgres.connection import connect
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import Replay
from streams.cli.endpoint_store import cli_actor
from streams.cli.shown import print_json
from streams.log import configure_log
from streams.replay.process import replay_here
from streams.settings import Settings

__all__ = ["carry_out"]

_LOOK_EVERY_S: Final = 0.2
_SAY_EVERY_S: Final = 2.0


def carry_out(settings: Settings, replay_id: str, *, as_json: bool) -> None:
    """Execute a redrive to its end, and say how it ended.

    Raises:
        typer.Exit: it failed, or was stopped, or Ctrl-C left it to others.
        PostgresError: as Postgres says.
    """
    configure_log(form=settings.log_format, level="error")  # what matters is said here
    try:
        replay = _executed(settings, replay_id)
    except KeyboardInterrupt:
        typer.echo(
            "Left before its end. An `outbox api` goes on with it; or this command does, with "
            f"--resume {replay_id}",
            err=True,
        )
        raise typer.Exit(130) from None
    _say(replay, as_json=as_json)
    if replay.status != "done":
        raise typer.Exit(1)


def _executed(settings: Settings, replay_id: str) -> Replay:
    stopping = threading.Event()
    failures: list[BaseException] = []

    def execute() -> None:
        # Again and again: who has it may be killed, and what was away comes back.
        try:
            while not stopping.is_set() and not replay_here(settings, replay_id, stopping=stopping):
                stopping.wait(1.0)
        except BaseException as error:  # noqa: BLE001 - raised below, in the command's own thread
            failures.append(error)

    worker = threading.Thread(target=execute, name="redrive", daemon=True)
    worker.start()
    try:
        return _followed(settings, replay_id, failures)
    finally:
        stopping.set()
        worker.join()


def _followed(settings: Settings, replay_id: str, failures: list[BaseException]) -> Replay:
    said_s = time.monotonic()
    waited_for = None
    with connect(settings.database_url.get_secret_value()) as connection:
        connection.autocommit = True
        store = ReplayStore(connection, actor=cli_actor())
        while (replay := store.get(replay_id)).is_open:
            if failures:
                raise failures[0]
            if replay.waits_for not in {None, waited_for}:
                waited_for = replay.waits_for
                typer.echo(f"Waiting: {waited_for}", err=True)
            if time.monotonic() - said_s >= _SAY_EVERY_S:
                said_s = time.monotonic()
                typer.echo(f"{replay.events_read} of {replay.events_to_read or '?'}", err=True)
            time.sleep(_LOOK_EVERY_S)
        return replay


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
