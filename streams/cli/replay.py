"""`outbox replay`: a range sent again, and replays of all kinds looked at, stopped, and gone on with.

The other kinds are asked for by `outbox endpoints recover`, `outbox deliveries resend` and `outbox dead-letters
redrive`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import typer

from connectors.postgres.connection import connect
from connectors.postgres.replays import ReplayStore
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.replay_range import run
from streams.cli.replay_reset import reset
from streams.cli.replay_run import carry_out
from streams.cli.replay_shown import replay_fields, show_replay, show_replays
from streams.cli.shown import print_json
from streams.settings import load_settings

__all__ = ["app"]

app = typer.Typer(
    name="replay",
    help="Deliveries that somebody asked to be made again, or after the fact.",
    no_args_is_help=True,
    add_completion=False,
)

app.command("run")(run)

ReplayId = Annotated[str, typer.Argument(metavar="ID", help="The replay's id, as in the list.")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list")
def list_replays(
    *,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1_000, help="At most so many.")] = 50,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="Those that were asked for before this one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List replays, newest first."""
    with said_plainly(), _store() as store:
        replays = store.page(limit=limit, before=before)
    if as_json:
        print_json({"replays": [replay_fields(replay) for replay in replays]})
    else:
        show_replays(replays)


@app.command()
def show(replay_id: ReplayId, *, as_json: AsJson = False) -> None:
    """Show one replay with its progress."""
    with said_plainly(), _store() as store:
        replay = store.get(replay_id)
    show_replay(replay, as_json=as_json)


@app.command()
def stop(replay_id: ReplayId, *, as_json: AsJson = False) -> None:
    """Stop a replay. What it has sent stays sent, and within a second nothing more is."""
    with said_plainly(), _store() as store:
        replay = store.stop(replay_id)
    show_replay(replay, as_json=as_json)


@app.command()
def resume(replay_id: ReplayId, *, as_json: AsJson = False) -> None:
    """Go on with a replay here, where its command was broken off and no API runs; or follow it until its end."""
    with said_plainly():
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        with _store() as store:
            replay = store.get(replay_id)
        carry_out(settings, replay, as_json=as_json)


app.command()(reset)


@contextmanager
def _store() -> Generator[ReplayStore]:
    settings = load_settings(needs=("database_url",))
    with connect(settings.database_url.get_secret_value()) as connection:
        yield ReplayStore(connection, actor=cli_actor())
