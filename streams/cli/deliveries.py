"""`outbox deliveries`: the delivery log: what was sent to whom, why not, and once more.

As fresh as the recorder that writes it. Shows no payload: the log has none.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated, Final, get_args
from uuid import UUID

import typer
from rich.console import Console

from connectors.counted import counted
from connectors.postgres.connection import connect
from connectors.postgres.delivery_log import DeliveryLog
from connectors.postgres.log_rows import DeliveryStatus
from connectors.postgres.logged_delivery import DeliveryPage, DeliveryQuery, LoggedAttempt, LoggedDelivery
from streams.cli.errors import said_plainly
from streams.cli.resend import resend
from streams.cli.shown import (
    TIME_HELP,
    CursorOption,
    LimitOption,
    a_table,
    lines,
    moment,
    parts,
    print_fields,
    print_json,
    print_page,
    printable,
    time_text,
    why,
)
from streams.settings import load_settings

__all__ = ["app"]

app = typer.Typer(name="deliveries", help="The delivery log.", no_args_is_help=True, add_completion=False)
app.command()(resend)

_STATUSES: Final[tuple[DeliveryStatus, ...]] = get_args(DeliveryStatus)


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
        str | None, typer.Option(metavar="TIME", help=f"Events committed then or later: {TIME_HELP}.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Events committed before then, given likewise.")
    ] = None,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
    as_json: AsJson = False,
) -> None:
    """List deliveries, those of the newest events first."""
    query = DeliveryQuery(
        target=f"endpoint:{target}" if target is not None and target.startswith("ep_") else target,
        event_id=None if event is None else _event_id(event),
        event_type=event_type,
        statuses=frozenset(_statuses(status or ())),
        since=None if since is None else moment(since, option="--since"),
        until=None if until is None else moment(until, option="--until"),
    )
    with said_plainly(), _log() as log:
        page = log.list(query, limit=limit, cursor=cursor)
    if as_json:
        print_json({"deliveries": page.deliveries, "next_cursor": page.next_cursor})
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
        print_json({**asdict(delivery), "attempts_made": attempts})
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
    for text in parts(arguments):
        known = next((status for status in _STATUSES if status == text), None)
        if known is None:
            raise typer.BadParameter(f"use {', '.join(_STATUSES)}", param_hint="--status")
        yield known


def _print_page(page: DeliveryPage) -> None:
    table = a_table("delivery", "committed\n(UTC)", "status")
    for delivery in page.deliveries:
        table.add_row(
            f"{delivery.id}\n{printable(delivery.event_type)} → {printable(delivery.target)}",
            f"{delivery.created_at:%Y-%m-%d\n%H:%M:%S}",
            lines(
                f"{delivery.status}, {counted(delivery.attempts, 'attempt')}",
                why(delivery.error_code, delivery.error),
            ),
        )
    print_page(table, next_cursor=page.next_cursor)


def _print_delivery(delivery: LoggedDelivery) -> None:
    print_fields(asdict(delivery))


def _print_attempts(attempts: Sequence[LoggedAttempt]) -> None:
    table = a_table("attempt", "started (UTC)", "took", "outcome", "next")
    for attempt in attempts:
        answered = "" if attempt.http_status is None else f", HTTP {attempt.http_status}"
        table.add_row(
            str(attempt.attempt),
            time_text(attempt.started_at),
            f"{attempt.duration_ms:,.0f} ms",
            lines(
                f"{attempt.outcome}{answered}",
                why(attempt.error_code, attempt.error),
                printable(attempt.excerpt or ""),
            ),
            lines(attempt.next, time_text(attempt.next_attempt_at) if attempt.next_attempt_at else ""),
        )
    Console(markup=False).print(table)
