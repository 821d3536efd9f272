"""Which dead letters a command is about: its options, and the query that they make."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final
from uuid import UUID

import psycopg
import typer

from connectors.postgres.connection import database_time
from connectors.postgres.dead_letter import (
    LETTER_CLASSES,
    LETTER_STATUSES,
    DeadLetterQuery,
    LetterClass,
    LetterStatus,
)
from streams.cli.shown import TIME_HELP, moment, parts

__all__ = [
    "ClassOption",
    "CodeOption",
    "EventOption",
    "SinceOption",
    "TargetOption",
    "TypeOption",
    "UntilOption",
    "as_of_now",
    "letter_query",
    "letter_statuses",
]

CodeOption = Annotated[
    list[str] | None,
    typer.Option("--code", metavar="CODE", help="The error code. Repeatable, or separated by commas."),
]
ClassOption = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help=f"{' or '.join(LETTER_CLASSES)}: what can't be read, or what was a target's matter.",
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option("--target", metavar="TARGET", help="endpoint:ID or handler:NAME; ep_… is an endpoint's."),
]
TypeOption = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="The event's type, like order.created.")
]
EventOption = Annotated[str | None, typer.Option("--event", metavar="ID", help="The event's id.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help=f"Those that died then or later: {TIME_HELP}.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Those that died before then, given likewise.")
]

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def letter_query(  # noqa: PLR0913 - one for each option
    *,
    ids: Sequence[str] | None = None,
    code: Sequence[str] | None = None,
    class_: str | None = None,
    target: str | None = None,
    event_type: str | None = None,
    event: str | None = None,
    since: str | None = None,
    until: str | None = None,
    statuses: frozenset[LetterStatus] = frozenset(),
) -> DeadLetterQuery:
    """What the options ask for; all that is given must hold.

    Raises:
        typer.BadParameter: one of them can't be read.
    """
    return DeadLetterQuery(
        ids=tuple(dict.fromkeys(_uuid(text, option="ID") for text in ids)) if ids else None,
        codes=frozenset(_codes(code or ())),
        letter_class=None if class_ is None else _class(class_),
        target=f"endpoint:{target}" if target is not None and target.startswith("ep_") else target,
        event_type=event_type,
        event_id=None if event is None else _uuid(event, option="--event"),
        statuses=statuses,
        since=None if since is None else moment(since, option="--since"),
        until=None if until is None else moment(until, option="--until"),
    )


def letter_statuses(arguments: Sequence[str] | None) -> frozenset[LetterStatus]:
    """Read --status."""
    wanted = parts(arguments or ())
    known = frozenset(status for status in LETTER_STATUSES if status in wanted)
    if known != set(wanted):
        raise typer.BadParameter(f"use {', '.join(LETTER_STATUSES)}", param_hint="--status")
    return known


def _codes(arguments: Sequence[str]) -> Sequence[str]:
    codes = parts(arguments)
    if not all(_CODE.fullmatch(code) for code in codes):
        raise typer.BadParameter("use codes such as ENDPOINT_EXHAUSTED", param_hint="--code")
    return codes


def _class(text: str) -> LetterClass:
    known = next((name for name in LETTER_CLASSES if name == text), None)
    if known is None:
        raise typer.BadParameter(f"use {' or '.join(LETTER_CLASSES)}", param_hint="--class")
    return known


def _uuid(text: str, *, option: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter("an id is a UUID", param_hint=option) from None


def as_of_now(connection: psycopg.Connection[Any], query: DeadLetterQuery) -> DeadLetterQuery:
    """Without those that die while somebody reads how many there are, and makes up their mind."""
    now = database_time(connection)
    return replace(query, until=now if query.until is None else min(query.until, now))
