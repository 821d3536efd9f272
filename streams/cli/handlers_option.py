"""The option `--handlers`, the same for all commands that deliver. It imports nothing of what they need."""

from typing import Annotated

import typer

__all__ = ["HandlersOption"]

HandlersOption = Annotated[
    str,
    typer.Option(
        help="Module whose import registers the handlers, like shop.handlers. It is looked for in the current "
        "directory and on PYTHONPATH.",
        metavar="MODULE",
    ),
]
