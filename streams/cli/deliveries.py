"""`outbox deliveries`: the delivery log, read: what was sent to whom, and why not.

As fresh as the recorder that writes it. Shows no payload: the log has none.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final, get_args
from uuid import UUID

import orjson
import typer
from rich.console import Console
from rich.table import Table

from connectors.postgres.connection import connect
from connectors.postgres.delivery_log import DeliveryLog
from connectors.postgres.log_rows import DeliveryStatus
from connectors.postgres.logged_delivery import DeliveryPage, DeliveryQuery, LoggedAttempt, LoggedDelivery
from streams.cli.errors import said_plainly
from streams.duration import parse_duration
from streams.settings import load_settings

__all__ = ["app"]

app = typer.Typer(name="deliveries", help="The delivery log.", no_args_is_help=True, add_completion=False)

_STATUSES: Final[tuple[DeliveryStatus, ...]] = get_args(DeliveryStatus)
_TIME_HELP = (
    "a time such as 2026-11-30T14:00:00Z (UTC where no zone is given), or how long ago, such as 15m or 24h"
)

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command("list")
def list_deliveries(  # noqa: PLR0913 - one option for each filter
    *,
    target: Annotated[
        str | None, typer.Option(metavar="TARGET", help="endpoint:ID or handler:NAME; ep_… is an endpoint's.")
    ] = None,
    event: Annotated[str | None, typer.Option(metavar="ID", help="The event's id.")] = None,
    event_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="The event's type, like order.created.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help=f"{', '.join(_STATUSES)}. Repeatable, or separated by commas."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"Events committed then or later: {_TIME_HELP}.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Events committed before then, given likewise.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=1_000, help="At most so many.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Go on after a page: its next_cursor.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List deliveries, those of the newest events first."""
    query = DeliveryQuery(
        target=f"endpoint:{target}" if target is not None and target.startswith("ep_") else target,
        event_id=None if event is None else _event_id(event),
        event_type=event_type,
        statuses=frozenset(_statuses(status or ())),
        since=None if since is None else _moment(since, option="--since"),
        until=None if until is None else _moment(until, option="--until"),
    )
    with said_plainly(), _log() as log:
        page = log.list(query, limit=limit, cursor=cursor)
    if as_json:
        _print_json({"deliveries": page.deliveries, "next_cursor": page.next_cursor})
    else:
        _print_page(page)


@app.command()
def show(
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The delivery's id, as in the list.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one delivery with its attempts, oldest first."""
    with said_plainly(), _log() as log:
        delivery, attempts = log.get(delivery_id)
    if as_json:
        _print_json({**asdict(delivery), "attempts_made": attempts})
    else:
        _print_delivery(delivery)
        _print_attempts(attempts)


@contextmanager
def _log() -> Generator[DeliveryLog]:
    settings = load_settings(needs=("database_url",))
    with connect(settings.database_url.get_secret_value()) as connection:
        yield DeliveryLog(connection)


def _event_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter("an event's id is a UUID", param_hint="--event") from None


def _statuses(arguments: Sequence[str]) -> Generator[DeliveryStatus]:
    for text in (part.strip() for argument in arguments for part in argument.split(",")):
        known = next((status for status in _STATUSES if status == text), None)
        if known is None:
            raise typer.BadParameter(f"use {', '.join(_STATUSES)}", param_hint="--status")
        yield known


def _moment(text: str, *, option: str) -> datetime:
    try:
        return datetime.now(UTC) - parse_duration(text)
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"use {_TIME_HELP}", param_hint=option) from None


def _print_json(value: object) -> None:
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def _print_page(page: DeliveryPage) -> None:
    table = _table("id", "committed (UTC)", "type", "target", "status", "attempts", "last error")
    for delivery in page.deliveries:
        table.add_row(
            str(delivery.id),
            _time(delivery.created_at),
            delivery.event_type,
            delivery.target,
            delivery.status,
            str(delivery.attempts),
            _why(delivery.error_code, delivery.error),
        )
    _copyable_ids(table, (str(delivery.id) for delivery in page.deliveries))
    Console(markup=False).print(table)
    if page.next_cursor is not None:
        typer.echo(f"There are more: --cursor {page.next_cursor}", err=True)


def _print_delivery(delivery: LoggedDelivery) -> None:
    shown = asdict(delivery)
    width = max(map(len, shown))
    for name, value in shown.items():
        text = "" if value is None else _time(value) if isinstance(value, datetime) else str(value)
        typer.echo(f"{name:<{width}}  {_printable(text)}".rstrip())


def _print_attempts(attempts: Sequence[LoggedAttempt]) -> None:
    table = _table("attempt", "started (UTC)", "took", "outcome", "HTTP", "error", "answer", "next")
    for attempt in attempts:
        table.add_row(
            str(attempt.attempt),
            _time(attempt.started_at),
            f"{attempt.duration_ms:,.0f} ms",
            attempt.outcome,
            "" if attempt.http_status is None else str(attempt.http_status),
            _why(attempt.error_code, attempt.error),
            _printable(attempt.excerpt or ""),
            _next(attempt),
        )
    Console(markup=False).print(table)


def _next(attempt: LoggedAttempt) -> str:
    if attempt.next_attempt_at is None:
        return attempt.next
    return f"{attempt.next}, due {_time(attempt.next_attempt_at)}"


def _why(code: str | None, error: str | None) -> str:
    return _printable(": ".join(part for part in (code, error) if part))


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03}"


def _printable(text: str) -> str:
    """A receiver's words must not steer the terminal."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def _table(*columns: str) -> Table:
    table = Table(*columns)
    for column in table.columns:
        column.overflow = "fold"
    return table


def _copyable_ids(table: Table, ids: Any) -> None:
    """An id is for copying: it stands on one line, however narrow the terminal."""
    column = table.columns[0]
    column.no_wrap, column.overflow = True, "ignore"
    column.min_width = max(map(len, ids), default=0)
