"""`outbox endpoints`: the receivers of webhooks, by hand.

Every change reaches the workers through the outbox, as events do. A secret is shown once, when it was made
here, and never again: what was lost is replaced (`update --new-secret`), with the old one signing too until
`--retire-secrets`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console

from connectors.counted import counted
from connectors.postgres.endpoints import new_endpoint_id
from connectors.postgres.errors import EndpointUnreadableError
from connectors.postgres.stored_endpoint import StoredEndpoint, UnreadableEndpoint
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import EncryptionKey
from connectors.webhook.secret import Secret
from connectors.webhook.url import WebhookUrl
from outbox import EventFilter
from streams.cli.endpoint_options import (
    Concurrency,
    Headers,
    MaxAge,
    Metadata,
    OwnFields,
    PayloadFilterText,
    RateLimitText,
    Schedule,
    Timeout,
    set_anyhow,
)
from streams.cli.endpoint_output import print_json, print_table, show_endpoint, shown
from streams.cli.endpoint_store import opened_store, reseal_all
from streams.cli.errors import said_plainly
from streams.cli.recover import recover
from streams.cli.source import read_source

__all__ = ["app"]

app = typer.Typer(
    name="endpoints", help="The receivers of webhooks.", no_args_is_help=True, add_completion=False
)

_EVENTS_HELP = "The event types it wants: order.created, order.* or *. Repeatable, or separated by commas."
_SEEN = "a text as argument is seen by all users of the machine, so rather @FILE or -."
_DISABLED_HELP = (
    "events appended while it is disabled are not sent to it, unless it is recovered later; deliveries that already "
    "wait are put off."
)

app.command()(recover)

EndpointId = Annotated[str, typer.Argument(metavar="ID", help="The endpoint, ep_….")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


@app.command()
def add(  # noqa: PLR0913 - one option for each thing that an endpoint may have of its own
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to post the events to.")],
    *,
    events: Annotated[list[str], typer.Option(metavar="FILTER", help=_EVENTS_HELP)],
    secret: Annotated[
        str | None, typer.Option(metavar="whsec_…|@FILE|-", help=f"Its signing secret; {_SEEN}")
    ] = None,
    description: Annotated[str, typer.Option(help="For people; shown in lists.")] = "",
    disabled: Annotated[
        bool, typer.Option("--disabled", help=f"Send nothing to it yet: {_DISABLED_HELP}")
    ] = False,
    header: Headers = None,
    metadata: Metadata = None,
    timeout: Timeout = None,
    schedule: Schedule = None,
    max_age: MaxAge = None,
    concurrency: Concurrency = None,
    rate_limit: RateLimitText = None,
    payload_filter: PayloadFilterText = None,
    as_json: AsJson = False,
) -> None:
    """Add an endpoint. Without --secret one is made, and shown this once."""
    given = None if secret is None else _secret_text(secret)
    own = OwnFields(
        headers=header,
        metadata=metadata,
        timeout=timeout,
        schedule=schedule,
        max_age=max_age,
        concurrency=concurrency,
        rate_limit=rate_limit,
        payload_filter=payload_filter,
    )
    with said_plainly():
        WebhookUrl.parse(url)  # before there is an id, which a message about the endpoint would name
        key = Secret.generate() if given is None else Secret.parse(given)
        endpoint = Endpoint(
            id=new_endpoint_id(),
            url=url,
            event_types=_filters(events),
            secrets=(key,),
            enabled=not disabled,
            description=description,
            created_at=datetime.now(UTC),
        )
        new = own.applied(
            StoredEndpoint(endpoint=endpoint, updated_at=endpoint.created_at), own.request(), new_url=True
        )
        with opened_store() as store:
            stored = store.add(new.endpoint, metadata=dict(new.metadata))
    show_endpoint(stored, None, made=key if given is None else None, as_json=as_json)


@app.command("list")
def list_endpoints(*, as_json: AsJson = False) -> None:
    """List all endpoints, oldest first. One that is stored in a form that is refused now is told on stderr."""
    with said_plainly(), opened_store(stores_secrets=False) as store:
        found = store.everything()
        readable = [one for one in found if isinstance(one, StoredEndpoint)]
        healths = store.health.of([one.endpoint.id for one in readable])
    for one in found:
        if isinstance(one, UnreadableEndpoint):
            typer.echo(str(EndpointUnreadableError(one.id, one.why)), err=True)
    if as_json:
        print_json(shown(readable, healths))
        return
    print_table(shown(readable, healths))


@app.command()
def show(endpoint_id: EndpointId, *, as_json: AsJson = False) -> None:
    """Show one endpoint and how it fares, without its secrets."""
    with said_plainly(), opened_store(stores_secrets=False) as store:
        stored = store.stored(endpoint_id)
        health = store.health.of([endpoint_id]).get(endpoint_id)
    show_endpoint(stored, health, as_json=as_json)


@app.command()
def update(  # noqa: PLR0913 - one option for each thing that can be changed
    endpoint_id: EndpointId,
    *,
    url: Annotated[str | None, typer.Option(help="Where to post the events to, from now on.")] = None,
    events: Annotated[list[str] | None, typer.Option(metavar="FILTER", help=_EVENTS_HELP)] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            metavar="whsec_…|@FILE|-", help=f"A further secret, for a rotation: the others sign too; {_SEEN}"
        ),
    ] = None,
    new_secret: Annotated[
        bool,
        typer.Option("--new-secret", help="Make a further secret, shown this once; the others sign too."),
    ] = False,
    retire_secrets: Annotated[
        bool, typer.Option("--retire-secrets", help="Sign with the newest secret only, from now on.")
    ] = False,
    description: Annotated[str | None, typer.Option(help="For people; shown in lists.")] = None,
    enabled: Annotated[
        bool | None,
        typer.Option("--enable/--disable", help=f"Send to it, or not: {_DISABLED_HELP}"),
    ] = None,
    header: Headers = None,
    metadata: Metadata = None,
    timeout: Timeout = None,
    schedule: Schedule = None,
    max_age: MaxAge = None,
    concurrency: Concurrency = None,
    rate_limit: RateLimitText = None,
    payload_filter: PayloadFilterText = None,
    as_json: AsJson = False,
) -> None:
    """Change an endpoint. What is not given stays; deliveries that wait use what it has become."""
    if secret is not None and new_secret:
        raise typer.BadParameter("give --secret, or --new-secret to have one made", param_hint="--new-secret")
    given = None if secret is None else _secret_text(secret)
    own = OwnFields(
        headers=header,
        metadata=metadata,
        timeout=timeout,
        schedule=schedule,
        max_age=max_age,
        concurrency=concurrency,
        rate_limit=rate_limit,
        payload_filter=payload_filter,
    )
    with said_plainly():
        own_change = own.request()
        key = Secret.parse(given) if given is not None else Secret.generate() if new_secret else None
        filters = _filters(events) if events else None

        known: list[int] = []

        def change(stored: StoredEndpoint) -> StoredEndpoint:
            known.append(stored.revision)
            before = stored.endpoint
            secrets = (
                before.secrets
                if key is None
                else (key, *(old for old in before.secrets if not key.same_key(old)))
            )
            after = replace(
                before,
                url=before.url if url is None else url,
                event_types=before.event_types if filters is None else filters,
                secrets=secrets[:1] if retire_secrets else secrets,
                description=before.description if description is None else description,
                enabled=before.enabled if enabled is None else enabled,
            )
            return own.applied(replace(stored, endpoint=after), own_change, new_url=url is not None)

        instead = _given(url=url, event_types=filters) | set_anyhow(own_change)
        with opened_store() as store:
            stored = store.change(endpoint_id, change, instead=instead)
            health = store.health.of([endpoint_id]).get(endpoint_id)
    if stored.revision in known:
        typer.echo("Nothing was changed. The workers are told the endpoint again, as it is.", err=True)
    show_endpoint(stored, health, made=key if new_secret else None, as_json=as_json)


@app.command()
def remove(endpoint_id: EndpointId) -> None:
    """Remove an endpoint. Deliveries that wait for it are cancelled."""
    with said_plainly(), opened_store(stores_secrets=False) as store:
        store.remove(endpoint_id)
    typer.echo(f"removed {endpoint_id}")


@app.command()
def reseal() -> None:
    """Seal all secrets and header values with the first key of OUTBOX_ENCRYPTION_KEYS.

    For plain text from before there was a key, and after a new key was put first: when it has ended with 0, the older
    keys are needed no more, once the workers have read the records that it wrote. May be repeated, and interrupted.
    """
    with said_plainly():
        resealed, locked = reseal_all()
    typer.echo(f"resealed {counted(resealed, 'endpoint')}")
    if locked:
        Console(stderr=True, highlight=False).print("\n".join(locked), markup=False, soft_wrap=True)
        raise typer.Exit(1)


@app.command("new-key")
def new_key(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="What to call it: k1, or a date.")],
) -> None:
    """Make an encryption key, and print it as it stands in OUTBOX_ENCRYPTION_KEYS. It is stored nowhere."""
    with said_plainly():
        typer.echo(EncryptionKey.generate(key_id).reveal())


def _secret_text(argument: str) -> str:
    # From a file or a pipe it usually comes with a line end, which is none of it.
    return read_source(argument, option="--secret").decode(errors="replace").rstrip("\r\n")


def _filters(arguments: Sequence[str]) -> tuple[EventFilter, ...]:
    patterns = [pattern.strip() for argument in arguments for pattern in argument.split(",")]
    return tuple(EventFilter(pattern) for pattern in dict.fromkeys(patterns))


def _given(*, url: str | None, event_types: Sequence[EventFilter] | None) -> dict[str, Any]:
    """What is set anyhow, as the row has it: with this, a row that can't be read is."""
    filters = None if event_types is None else [event_filter.pattern for event_filter in event_types]
    values = {"url": url, "event_types": filters}
    return {name: value for name, value in values.items() if value is not None}
