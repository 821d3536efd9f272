"""The `outbox` command: mounts the commands, each from its own module."""

import typer

from streams.cli import dev, endpoints
from streams.cli.append import append
from streams.cli.doctor import doctor
from streams.cli.run import run
from streams.cli.scheduler import scheduler
from streams.cli.setup import setup
from streams.cli.worker import worker

__all__ = ["app"]

app = typer.Typer(
    name="outbox",
    help="A transactional outbox processor on Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(setup)
app.command()(doctor)
app.command()(worker)
app.command()(scheduler)
app.command()(run)
app.command()(append)
app.add_typer(endpoints.app)
app.add_typer(dev.app)
