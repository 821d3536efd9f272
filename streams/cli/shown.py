"""How commands show what is stored, and read times: texts that can't steer a terminal, times in UTC, JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

import orjson
import typer
from rich.console import Console
from rich.table import Table

from streams.duration import parse_duration

__all__ = [
    "TIME_HELP",
    "CursorOption",
    "LimitOption",
    "a_table",
    "lines",
    "moment",
    "parts",
    "print_fields",
    "print_json",
    "print_page",
    "printable",
    "time_text",
    "why",
]

LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1_000, help="At most so many.")]
CursorOption = Annotated[
    str | None, typer.Option("--cursor", metavar="CURSOR", help="Go on after a page: its next_cursor.")
]

_ID_CHARS: Final = 36
_DATE_CHARS: Final = 10
_RULES_CHARS: Final = 10  # what is drawn between three columns, and around them

TIME_HELP: Final = (
    "a time such as 2026-11-30T14:00:00Z (UTC where no zone is given), or how long ago, such as 15m or 24h"
)


def moment(text: str, *, option: str) -> datetime:
    """Read an option that is a time, or how long ago that was.

    Raises:
        typer.BadParameter: it is neither.
    """
    try:
        return datetime.now(UTC) - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        given = datetime.fromisoformat(text)
        return given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"use {TIME_HELP}", param_hint=option) from None


def print_json(value: object) -> None:
    """Print for programs."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_fields(fields: dict[str, object]) -> None:
    """Print names and values, a line each."""
    width = max(map(len, fields))
    for name, value in fields.items():
        typer.echo(f"{name:<{width}}  {printable(_text(value))}".rstrip())


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return time_text(value) if isinstance(value, datetime) else str(value)


def a_table(*columns: str) -> Table:
    """A table whose columns fold what is too long."""
    table = Table(*columns)
    for column in table.columns:
        column.overflow = "fold"
    return table


def print_page(table: Table, *, next_cursor: str | None) -> None:
    """Print a table of ids, dates and a last column of words, and how to go on after it."""
    # An id is for copying: it stands on one line, however narrow the terminal. The last column takes what is left.
    console = Console(markup=False)
    for column, width in zip(table.columns, (_ID_CHARS, _DATE_CHARS), strict=False):
        column.width = width
    table.columns[-1].max_width = max(console.width - _ID_CHARS - _DATE_CHARS - _RULES_CHARS, _DATE_CHARS)
    console.print(table)
    if next_cursor is not None:
        typer.echo(f"There are more: --cursor {next_cursor}", err=True)


def lines(*texts: str) -> str:
    """Texts under each other, but for empty ones."""
    return "\n".join(text for text in texts if text)


def why(code: str | None, error: str | None) -> str:
    """A code and what is said of it."""
    return printable(": ".join(part for part in (code, error) if part))


def time_text(at: datetime) -> str:
    """A time to the millisecond.

    >>> time_text(datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC))
    '2026-03-01 12:30:00.123'
    """
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}"


def printable(text: str) -> str:
    r"""A text of somebody's, which must not steer the terminal.

    >>> printable("a\x1b[31mb")
    'a�[31mb'
    """
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def parts(arguments: Sequence[str]) -> tuple[str, ...]:
    """The parts of options that may be repeated, or separated by commas."""
    return tuple(part.strip() for argument in arguments for part in argument.split(","))
