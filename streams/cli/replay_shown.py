"""How commands show replays, and end by how one ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import typer
from rich.console import Console

from connectors.postgres.stored_replay import Replay, ReplayKind
from streams.cli.shown import a_table, lines, print_fields, print_json, printable, time_text

__all__ = ["replay_fields", "show_replay", "show_replays", "show_result"]

_ID_CHARS = 36
#: What is shown of a selection. A redrive's letters say themselves which replay they were given to.
_ASKED: Final[Mapping[ReplayKind, Sequence[str]]] = {
    "resend": ("delivery_id",),
    "recovery": ("since", "until"),
    "redrive": (),
    "range": ("from", "to", "types", "aggregates", "ids", "targets", "source"),
}


def replay_fields(replay: Replay) -> dict[str, Any]:
    """What is shown of one; the API's names."""
    selection = replay.selection
    asked = {name: selection[name] for name in _ASKED[replay.kind] if name in selection}
    return {
        "id": replay.id,
        "kind": replay.kind,
        "target": replay.target,
        **asked,
        "rate_per_s": replay.rate_per_s,
        "status": replay.status,
        "waits_for": replay.waits_for,
        "warning": replay.warning,
        "error": replay.error,
        "requested_by": replay.requested_by,
        "requested_at": replay.requested_at,
        "started_at": replay.started_at,
        "ended_at": replay.ended_at,
        "events_read": replay.events_read,
        "events_to_read": replay.events_to_read,
        "sent": replay.sent,
        "skipped": replay.skipped,
    }


def show_replay(replay: Replay, *, as_json: bool) -> None:
    """Print one."""
    fields = replay_fields(replay)
    if as_json:
        print_json(fields)
    else:
        print_fields(fields)


def show_result(replay: Replay, *, as_json: bool) -> None:
    """Print what came of one that was carried out.

    Raises:
        typer.Exit: it failed, or was stopped.
    """
    if as_json:
        print_json(replay_fields(replay))
    else:
        typer.echo(f"{replay.status}: {replay.sent} sent, {replay.skipped} skipped (replay {replay.id})")
        for said in (replay.warning, replay.error):
            if said is not None:
                typer.echo(printable(said), err=True)
    if replay.status != "done":
        raise typer.Exit(1)


def show_replays(replays: Sequence[Replay]) -> None:
    """Print a page as a table."""
    table = a_table("replay", "asked for (UTC)", "progress")
    # An id is for copying: it stands on one line, however narrow the terminal.
    table.columns[0].width = _ID_CHARS
    for replay in replays:
        of = "?" if replay.events_to_read is None else str(replay.events_to_read)
        table.add_row(
            f"{replay.id}\n{replay.kind} → {printable(replay.target or 'several')}",
            f"{time_text(replay.requested_at)}\n{printable(replay.requested_by)}",
            lines(
                f"{replay.status}, {replay.events_read} of {of}",
                f"{replay.sent} sent",
                printable(replay.waits_for or replay.error or replay.warning or ""),
            ),
        )
    Console(markup=False).print(table)
