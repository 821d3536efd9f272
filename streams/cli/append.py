"""`outbox append`: one event by hand, for trying things out and for scripts.

An event in a transaction of its own, so atomic with nothing: an application uses the library instead.
"""

from collections.abc import Iterable
from typing import Annotated
from uuid import UUID

import typer
from psycopg.errors import UniqueViolation

from connectors.postgres.connection import connect, statement_errors
from outbox import OutboxRow, append_many
from streams.cli.errors import said_plainly
from streams.cli.source import read_source
from streams.errors import StreamsError
from streams.settings import load_settings

__all__ = ["append"]


def append(
    event_type: Annotated[str, typer.Argument(metavar="TYPE", help="What happened, such as order.created.")],
    *,
    aggregate: Annotated[
        str, typer.Option(metavar="TYPE/ID", help="What it happened to, such as order/42; the key on Kafka.")
    ],
    payload: Annotated[
        str, typer.Option(metavar="TEXT|@FILE|-", help="The payload, the file that holds it, or - for stdin.")
    ],
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Text beside the payload; repeatable, each name once."),
    ] = None,
    content_type: Annotated[
        str | None, typer.Option(help="The payload's media type.", show_default="application/json")
    ] = None,
    event_id: Annotated[
        UUID | None, typer.Option("--id", metavar="UUID", help="The event's id.", show_default="a new one")
    ] = None,
) -> None:
    """Append one event, in a transaction of its own, and print its id."""
    pair = _aggregate(aggregate)
    headers = _headers(header or ())
    octets = read_source(payload, option="--payload")
    with said_plainly():
        row = OutboxRow.of(
            type=event_type,
            aggregate=pair,
            payload=octets,
            headers=headers,
            content_type=content_type,
            id=event_id,
        )
        settings = load_settings(needs=("database_url",))
        with connect(settings.database_url.get_secret_value()) as connection, statement_errors():
            try:
                append_many(connection, [row])
            except UniqueViolation:
                # `from None`: its DETAIL quotes the row.
                raise StreamsError(f"event {row.id} was appended before; nothing was written") from None
    typer.echo(row.id)


def _aggregate(text: str) -> tuple[str, str]:
    aggregate_type, slash, aggregate_id = text.partition("/")
    if not slash:
        raise typer.BadParameter(
            f"{text!r} has no '/': give a type and an id, such as order/42", param_hint="--aggregate"
        )
    return aggregate_type, aggregate_id


def _headers(texts: Iterable[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in map(_header, texts):
        if name in headers:
            raise typer.BadParameter(f"{name!r} is given twice: a name has one value", param_hint="--header")
        headers[name] = value
    return headers


def _header(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter("give a name and a value, such as tenant=acme", param_hint="--header")
    return name, value
