"""The `outbox` command: each command in its own module, imported when it is called.

Importing all of them takes longer than most commands do, and `outbox append` in a shell loop would pay it each
time.
"""

from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

__all__ = ["app"]

#: In the order in which a newcomer meets them.
_COMMANDS: Final = (
    "dev",
    "setup",
    "doctor",
    "worker",
    "scheduler",
    "recorder",
    "api",
    "run",
    "append",
    "endpoints",
    "deliveries",
    "replay",
    "dead-letters",
    "verify",
    "prune",
    "token",
)


class _Lazy(TyperGroup):
    """A group that knows its commands by name, and imports them by need."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"streams.cli.{cmd_name.replace('-', '_')}")
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
            group.command(name=cmd_name)(getattr(module, cmd_name))
        return typer.main.get_command(group)


app = typer.Typer(
    name="outbox",
    cls=_Lazy,
    help="A transactional outbox processor on Kafka.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def _outbox() -> None:
    """A transactional outbox processor on Kafka."""
