"""Endpoints as the command line shows them: as JSON for programs, as lines and a table for people.

Place in the data's way: the last step of `outbox endpoints`. What always holds: no secret is shown but the one that was
made just now, and of static headers the names alone.
"""

from collections.abc import Sequence
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from streams.api.views import endpoint_view

__all__ = ["print_json", "print_table", "show_endpoint", "shown"]


def shown(stored: StoredEndpoint) -> dict[str, Any]:
    """The fields that are shown, as the API has them; of secrets, how many there are."""
    view = endpoint_view(stored)
    first = ("id", "url", "event_types", "enabled", "description")
    fields = {name: getattr(view, name) for name in first}
    fields["created_at"] = stored.endpoint.created_at
    fields["secret_count"] = len(view.secrets)
    left = view.model_dump(exclude={*fields, "secrets", "updated_at"})
    return fields | left


def show_endpoint(stored: StoredEndpoint, *, made: Secret | None = None, as_json: bool) -> None:
    """Show one endpoint, and the secret that was made for it."""
    fields = shown(stored) | ({} if made is None else {"secret": made.reveal()})
    if as_json:
        print_json(fields)
        return
    # What an endpoint has nothing of its own for is left out: most have nothing.
    told = {name: value for name, value in fields.items() if value is not None and value not in ([], {})}
    if stored.endpoint.schedule == ():
        told["schedule_s"] = "none: one attempt"
    width = max(map(len, told))
    for name, value in told.items():
        typer.echo(f"{name:<{width}}  {_text(value)}")
    if made is not None:
        typer.echo("The secret is shown this once: hand it to whoever checks the signatures.", err=True)


def print_json(value: object) -> None:
    """For programs."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())


def print_table(endpoints: Sequence[Endpoint]) -> None:
    """For people: one row for each endpoint."""
    table = Table("id", "events", "url", "enabled", "description")
    for column in table.columns:
        column.overflow = "fold"
    # An id is for copying: it stands on one line, however narrow the terminal.
    ids = table.columns[0]
    ids.no_wrap, ids.overflow = True, "ignore"
    ids.min_width = max((len(endpoint.id) for endpoint in endpoints), default=0)
    for endpoint in endpoints:
        filters = " ".join(event_filter.pattern for event_filter in endpoint.event_types)
        table.add_row(endpoint.id, filters, endpoint.url, _text(endpoint.enabled), endpoint.description)
    Console(markup=False).print(table)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return orjson.dumps(value).decode() if isinstance(value, dict) else str(value)
