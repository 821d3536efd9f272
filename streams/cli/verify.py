"""`outbox verify`: is every committed event delivered, waiting, or a dead letter? For people, and for a CronJob.

Reads Postgres and Kafka, and changes nothing. Exit codes: 0, all are accounted for; 1, some are not; 2, it could not
be said.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.status import Status

import outbox
from outbox.handlers import Handlers
from streams.cli.errors import said_plainly
from streams.cli.handlers_loading import load_handlers
from streams.cli.handlers_option import HandlersOption
from streams.cli.shown import TIME_HELP, moment, print_json
from streams.cli.verify_shown import exit_code, report_fields, show_report
from streams.duration import parse_duration
from streams.settings import load_settings
from streams.verify.process import Request
from streams.verify.process import verify as verified

__all__ = ["verify"]

_UNKNOWN: Final = 2
_NO_HANDLERS: Final = Handlers()


class SourceOption(StrEnum):
    """Which events count as committed."""

    BOTH = "both"
    POSTGRES = "postgres"
    TOPIC = "topic"


def verify(  # noqa: PLR0913 - one for each option
    *,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help=f"Events committed then or later: {TIME_HELP}.")
    ],
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="Events committed before then, given likewise.",
            show_default="30 s ago",
        ),
    ] = None,
    source: Annotated[
        SourceOption,
        typer.Option(
            help="Which events count as committed: those with a row in the outbox table (postgres), those on "
            "outbox.events (topic), or both. Without the rows nobody sees what never reached Kafka.",
            metavar="SOURCE",
            show_default="both",
        ),
    ] = SourceOption.BOTH,
    handlers: HandlersOption = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, max=100_000, help="List at most so many events.")
    ] = 20,
    wait: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="How long to wait for connector and recorder where they are behind."
        ),
    ] = "1m",
    statement_limit: Annotated[
        str,
        typer.Option(
            "--statement-timeout", metavar="DURATION", help="The longest that Postgres may take for one."
        ),
    ] = "5m",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Count what became of each committed event; exit with 1 if one is neither delivered, waiting nor dead.

    With 2 if that can't be said: the recorder or the connector is behind, or Postgres or Kafka gives no answer.
    Handlers that are named must have a delivery of each event of their types.
    """
    begin = moment(since, option="--since")
    end = None if until is None else moment(until, option="--until")
    patience, longest = _duration(wait, "--wait"), _duration(statement_limit, "--statement-timeout")
    with _no_defect_is_a_loss(), said_plainly(code=_UNKNOWN):
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        load_handlers(handlers)
        request = Request(
            since=begin,
            until=end,
            source=source.value,
            limit=limit,
            patience=patience,
            statement_limit=longest,
        )
        with _told() as around:
            report = verified(
                settings, request, handlers=outbox.handlers if handlers else _NO_HANDLERS, around=around
            )
    if as_json:
        print_json(report_fields(report))
    else:
        show_report(report)
    if code := exit_code(report):
        raise typer.Exit(code)


class _Told:
    """What it does at the moment, on stderr, where that is a terminal."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._read = 0
        self._doing = ""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def say(self, what: str) -> None:
        self._doing = what
        self._status.update(what)

    def read(self, number: int) -> None:
        self._read += number
        self._status.update(f"{self._doing}: {self._read:,} records")


@contextmanager
def _told() -> Generator[_Told]:
    console = Console(stderr=True)
    status = Status("", console=console)
    if not console.is_terminal:
        yield _Told(status)
        return
    with status:
        yield _Told(status)


@contextmanager
def _no_defect_is_a_loss() -> Generator[None]:
    """Python would end with 1, which says that an event is lost."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        traceback.print_exc()
        raise typer.Exit(_UNKNOWN) from error


def _duration(text: str, option: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError:
        raise typer.BadParameter("use a duration such as 30s or 5m", param_hint=option) from None
