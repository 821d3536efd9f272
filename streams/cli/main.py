"""The `outbox` command: mounts the commands, each from its own module."""

import typer

from streams.cli.run import run
from streams.cli.scheduler import scheduler
from streams.cli.worker import worker

__all__ = ["app"]

app = typer.Typer(
    name="outbox",
    help="A transactional outbox processor on Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(worker)
app.command()(scheduler)
app.command()(run)
