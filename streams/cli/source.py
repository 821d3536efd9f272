"""An argument that may be the text itself, `@file` for the content of a file, or `-` for stdin."""

import sys
from pathlib import Path

import typer

__all__ = ["read_source"]


def read_source(argument: str, *, option: str) -> bytes:
    """Return the bytes that an argument stands for, as they are: no line end is added or taken.

    Raises:
        typer.BadParameter: the file can't be read.
    """
    if argument == "-":
        return sys.stdin.buffer.read()
    if not argument.startswith("@"):
        return argument.encode(errors="surrogateescape")
    path = argument[1:]
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        raise typer.BadParameter(f"can't read {path!r}: {why}", param_hint=option) from error
