"""Carrying out a replay from the command line: executed here, unless another process has it already; and followed.

Ctrl-C lets go of it: what was sent stays sent, and an API's replayer, or the command again, goes on with the rest.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from connectors.postgres.connection import connect
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import Replay
from streams.cli.endpoint_store import cli_actor
from streams.cli.replay_shown import show_replay, show_result
from streams.log import configure_log
from streams.replay.process import replay_here
from streams.settings import Settings

__all__ = ["INTERRUPTED", "carry_out", "progress_bar"]

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as shells have it."""

_LOOK_EVERY_S: Final = 0.2
_AGAIN_S: Final = 1.0


def carry_out(settings: Settings, replay: Replay, *, as_json: bool, detach: bool = False) -> None:
    """Execute a replay that was asked for, to its end, and print what came of it; only print it, where it is detached.

    Raises:
        typer.Exit: it failed, or was stopped; or Ctrl-C.
        PostgresError: as Postgres says.
    """
    if detach:
        show_replay(replay, as_json=as_json)
    else:
        show_result(_carried_out(settings, replay.id), as_json=as_json)


def _carried_out(settings: Settings, replay_id: str) -> Replay:
    """Execute a replay to its end, and return it as it ended. Progress is drawn on stderr, where that is a terminal.

    Args:
        settings: where Postgres and Kafka are.
        replay_id: which one.

    Raises:
        typer.Exit: Ctrl-C.
        PostgresError: as Postgres says.
    """
    configure_log(form=settings.log_format, level="error")  # what matters is said here
    stopping, failures = threading.Event(), list[BaseException]()

    def execute() -> None:
        # Again and again: who has it may be killed, and what was away comes back.
        try:
            while not stopping.is_set() and not replay_here(settings, replay_id, stopping=stopping):
                stopping.wait(_AGAIN_S)
        except BaseException as error:  # noqa: BLE001 - raised below, in the command's own thread
            failures.append(error)

    worker = threading.Thread(target=execute, name="replay", daemon=True)
    worker.start()
    try:
        return _followed(settings, replay_id, failures)
    except KeyboardInterrupt:
        typer.echo(
            f"Left before its end: an `outbox api` goes on with replay {replay_id}, or "
            f"`outbox replay resume {replay_id}`. `outbox replay stop {replay_id}` ends it.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    finally:
        stopping.set()
        worker.join()


def _followed(settings: Settings, replay_id: str, failures: list[BaseException]) -> Replay:
    with connect(settings.database_url.get_secret_value()) as connection, progress_bar() as bar:
        connection.autocommit = True
        store = ReplayStore(connection, actor=cli_actor())
        task = bar.add_task("", total=None, sent="")
        waited_for = None
        while (replay := store.get(replay_id)).is_open:
            if failures:
                raise failures[0]
            if replay.waits_for not in {None, waited_for}:
                waited_for = replay.waits_for
                bar.console.print(f"Waiting: {waited_for}", markup=False, highlight=False, soft_wrap=True)
            _draw(bar, task, replay)
            time.sleep(_LOOK_EVERY_S)
        _draw(bar, task, replay)
        return replay


def _draw(bar: Progress, task: TaskID, replay: Replay) -> None:
    bar.update(
        task,
        description=replay.status,
        completed=replay.events_read,
        total=replay.events_to_read,
        sent=f"{replay.sent} sent, at most {replay.rate_per_s:g}/s",
    )


class _Speed(ProgressColumn):
    """How many events are read a second."""

    def render(self, task: Task) -> Text:
        """Of the last half minute, as the time left is reckoned."""
        return Text("" if task.speed is None else f"{task.speed:.0f}/s")


@contextmanager
def progress_bar() -> Generator[Progress]:
    """A bar on stderr, where that is a terminal: how far, how fast, and how long it will take.

    A task has a field `sent`, a text.
    """
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        _Speed(),
        TextColumn("{task.fields[sent]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        yield bar
