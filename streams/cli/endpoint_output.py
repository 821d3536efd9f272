"""Endpoints as the command line shows them: as JSON for programs, as lines and a table for people.

Place in the data's way: the last step of `outbox endpoints`. What always holds: no secret is shown but the one that was
made just now, and of static headers the names alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from connectors.postgres.endpoint_health import EndpointHealth
from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.secret import Secret
from streams.api.views import endpoint_view
from streams.settings import load_settings

__all__ = ["print_json", "print_table", "show_endpoint", "shown"]


def shown(endpoints: Iterable[StoredEndpoint], healths: Mapping[str, EndpointHealth]) -> list[dict[str, Any]]:
    """The fields of each that are shown, as the API has them; of secrets, how many there are."""
    disable_after = load_settings().endpoint_disable_after
    return [_fields(one, healths.get(one.endpoint.id), disable_after) for one in endpoints]


def _fields(
    stored: StoredEndpoint, health: EndpointHealth | None, disable_after: timedelta | None
) -> dict[str, Any]:
    view = endpoint_view(stored, health, disable_after=disable_after)
    first = ("id", "url", "event_types", "enabled", "description")
    fields = {name: getattr(view, name) for name in first}
    fields["created_at"] = stored.endpoint.created_at
    fields["secret_count"] = len(view.secrets)
    left = view.model_dump(exclude={*fields, "secrets", "updated_at"})
    return fields | left


def show_endpoint(
    stored: StoredEndpoint, health: EndpointHealth | None, *, made: Secret | None = None, as_json: bool
) -> None:
    """Show one endpoint, and the secret that was made for it. None: nothing is known of its health."""
    [fields] = shown([stored], {} if health is None else {stored.endpoint.id: health})
    if made is not None:
        fields["secret"] = made.reveal()
    if as_json:
        print_json(fields)
        return
    # What an endpoint has nothing of its own for is left out: most have nothing.
    told = {name: value for name, value in fields.items() if value is not None and value not in ([], {})}
    told["health"] = _health(fields["health"])
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


def print_table(endpoints: Sequence[Mapping[str, Any]]) -> None:
    """For people: one row for each endpoint, made of the fields that are shown."""
    table = Table("id", "events", "url", "enabled", "health", "description")
    for column in table.columns:
        column.overflow = "fold"
    # An id is for copying: it stands on one line, however narrow the terminal.
    ids = table.columns[0]
    ids.no_wrap, ids.overflow = True, "ignore"
    ids.min_width = max((len(endpoint["id"]) for endpoint in endpoints), default=0)
    for endpoint in endpoints:
        reason = endpoint["disabled_reason"]
        table.add_row(
            endpoint["id"],
            " ".join(endpoint["event_types"]),
            endpoint["url"],
            _text(endpoint["enabled"]) if reason is None else f"no ({reason})",
            endpoint["health"]["state"],
            endpoint["description"],
        )
    Console(markup=False).print(table)


def _health(health: Mapping[str, Any]) -> str:
    """A health for people.

    >>> at = datetime.fromisoformat("2026-11-30T22:05:00+00:00")
    >>> _health({"state": "failing", "failing_since": at, "last_error": "answered 503", "disables_at": None})
    'failing since 2026-11-30 22:05Z: answered 503'
    """
    if health["failing_since"] is None:
        return str(health["state"])
    text = f"failing since {_moment(health['failing_since'])}: {health['last_error']}"
    return (
        text
        if health["disables_at"] is None
        else f"{text}; disabled from {_moment(health['disables_at'])} on"
    )


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return orjson.dumps(value).decode() if isinstance(value, dict) else str(value)
