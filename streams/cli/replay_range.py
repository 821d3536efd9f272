"""`outbox replay run`: the events of a range, to the targets that are named, whatever was delivered before."""

from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console

from connectors.counted import counted
from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.connection import connect
from connectors.postgres.logged_targets import logged_handlers
from connectors.postgres.replays import ReplayStore
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.range_choice import (
    AggregateOption,
    FromOption,
    IdOption,
    RateOption,
    SourceOption,
    TargetOption,
    ToOption,
    TypeOption,
    no_target,
    range_selection,
    rate_per_s,
)
from streams.cli.recover import DETACH_HELP, KEY_HELP
from streams.cli.replay_run import carry_out, progress_bar
from streams.cli.shown import a_table, print_json, printable
from streams.replay.range_count import RangeCount, count_range
from streams.replay.range_ports import range_ports
from streams.replay.range_selection import RangeSelection
from streams.replay.requests import check_range, request_range
from streams.settings import Settings, load_settings

__all__ = ["run"]

_USAGE = 2


def run(  # noqa: PLR0913 - one option for each filter
    *,
    begin: FromOption,
    end: ToOption,
    event_type: TypeOption = None,
    aggregate: AggregateOption = None,
    event: IdOption = None,
    target: TargetOption = None,
    rate: RateOption = "100/s",
    source: SourceOption = "kafka",
    key: Annotated[str | None, typer.Option(metavar="TEXT", help=KEY_HELP)] = None,
    detach: Annotated[bool, typer.Option("--detach", help=DETACH_HELP)] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many of which type, and to whom; send nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't count first, and don't ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Send the events of a range to the targets that you name, also those that were delivered before.

    With the same webhook-id, a fresh budget of attempts, and the replay's id. No other target hears of it, and the live
    traffic goes on. What all filters match is sent; of that an endpoint gets what it wants as it is now. Before it
    begins, it says how many events that is, and asks.
    """
    sent_a_second = rate_per_s(rate)
    with said_plainly():
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        with connect(settings.database_url.get_secret_value()) as connection:
            connection.autocommit = True
            if not target:
                typer.echo(no_target(connection), err=True)
                raise typer.Exit(_USAGE)
            selection = range_selection(
                begin=begin,
                end=end,
                types=event_type or (),
                aggregates=aggregate or (),
                ids=event or (),
                targets=target,
                source=source,
            )
            # A request that was made before is followed, whatever there is by now.
            known = key is not None and ReplayStore(connection, actor=cli_actor()).known(
                "range", idempotency_key=key
            )
            asks = dry_run or not (yes or known)
            if asks and not _agreed(settings, connection, selection, dry_run=dry_run, as_json=as_json):
                return
            replay = request_range(
                connection,
                selection,
                rate_per_s=sent_a_second,
                actor=cli_actor(),
                idempotency_key=key,
            )
        carry_out(settings, replay, as_json=as_json, detach=detach)


def _agreed(
    settings: Settings,
    connection: psycopg.Connection[Any],
    selection: RangeSelection,
    *,
    dry_run: bool,
    as_json: bool,
) -> bool:
    """Whether it is to be sent: counted, shown, and asked for."""
    check_range(connection, selection)
    servers = settings.kafka_bootstrap_servers
    ports = range_ports(
        connection,
        selection,
        bootstrap_servers=servers,
        offsets=TopicOffsets(servers),
        log_retention_days=settings.log_retention_days,
    )
    with progress_bar() as bar:
        task = bar.add_task("counting", total=None, sent="")
        counted_range = count_range(
            selection, ports, progress=lambda read, of: bar.update(task, completed=read, total=of)
        )
    if as_json and (dry_run or not counted_range.number):
        print_json({"dry_run": dry_run, **_fields(counted_range)})
        return False
    _show(counted_range, as_json=as_json)
    _warn_of_handlers(connection, selection)
    if not counted_range.number or dry_run:
        typer.echo("Nothing was sent.")
        return False
    return typer.confirm(f"Send {_deliveries(counted_range.number)}?", abort=True, err=True)


def _show(found: RangeCount, *, as_json: bool) -> None:
    table = a_table("type", "target", "events")
    for (event_type, target), number in sorted(found.deliveries.items(), key=lambda one: str(one[0])):
        table.add_row(printable(event_type), printable(str(target)), str(number))
    if found.deliveries:
        Console(markup=False, stderr=as_json).print(table)
    typer.echo(
        f"{counted(found.read, 'event')} looked at, {found.matching} match, "
        f"{_deliveries(found.number)} to send.",
        err=as_json,
    )
    if found.warning is not None:
        typer.echo(printable(found.warning), err=True)


def _deliveries(number: int) -> str:
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def _warn_of_handlers(connection: psycopg.Connection[Any], selection: RangeSelection) -> None:
    """A name that no worker has makes a dead letter of each event: so one that was never heard of is mentioned."""
    logged = logged_handlers(connection)
    for target in map(str, selection.targets):
        if target.startswith("handler:") and target not in logged:
            typer.echo(
                f"The delivery log has nothing of {printable(target)}. Where no worker has a handler of this name, its "
                "events become dead letters.",
                err=True,
            )


def _fields(found: RangeCount) -> dict[str, Any]:
    return {
        "events_read": found.read,
        "matching": found.matching,
        "number": found.number,
        "deliveries": [
            {"type": event_type, "target": str(target), "number": number}
            for (event_type, target), number in sorted(found.deliveries.items(), key=lambda one: str(one[0]))
        ],
        "warning": found.warning,
    }
