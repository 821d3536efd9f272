"""Which events a range is about, and to whom: its options, and the selection that they make."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, TypeVar
from uuid import UUID

import psycopg
import typer

from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.logged_targets import logged_handlers
from outbox import EventFilter, EventFilterError
from streams.cli.shown import TIME_HELP, moment, parts, printable
from streams.records.target import TargetName, parse_target
from streams.replay.pace import LEAST_RATE_PER_S, MOST_RATE_PER_S
from streams.replay.range_selection import (
    MOST_CHOICES,
    MOST_IDS,
    MOST_TARGETS,
    NEEDS_TYPES,
    EventsFrom,
    RangeSelection,
    is_aggregate,
    needs_types,
)

__all__ = [
    "AggregateOption",
    "FromOption",
    "IdOption",
    "RateOption",
    "SourceOption",
    "TargetOption",
    "ToOption",
    "TypeOption",
    "no_target",
    "range_selection",
    "rate_per_s",
]

FromOption = Annotated[
    str, typer.Option("--from", metavar="TIME", help=f"Events committed then or later: {TIME_HELP}.")
]
ToOption = Annotated[
    str, typer.Option("--to", metavar="TIME", help="Events committed before then, given likewise; 0s is now.")
]
TypeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Of these types only: order.created, order.* or *. Repeatable, or separated by commas. A handler gets "
        "what is named here; an endpoint of that what it wants.",
    ),
]
AggregateOption = Annotated[
    list[str] | None,
    typer.Option("--aggregate", metavar="TYPE/ID", help="About these only, such as order/42. Repeatable."),
]
IdOption = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="ID", help="These events only. Repeatable, or separated by commas."),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        help="Who gets them: endpoint:ID (or ep_…), handler:NAME. Repeatable, or separated by commas. Without it "
        "nothing is sent: the command lists what there is.",
    ),
]
RateOption = Annotated[
    str, typer.Option("--rate", metavar="N/s", help="How many deliveries are sent a second, at most.")
]
SourceOption = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="SOURCE",
        help="kafka, or postgres: the rows of the outbox table, where they are kept for longer than events on Kafka.",
    ),
]

_Value = TypeVar("_Value")
_SOURCES: Final[tuple[EventsFrom, ...]] = ("kafka", "postgres")


def range_selection(
    *,
    begin: str,
    end: str,
    types: Sequence[str],
    aggregates: Sequence[str],
    ids: Sequence[str],
    targets: Sequence[str],
    source: str,
) -> RangeSelection:
    """What the options ask for.

    Raises:
        typer.BadParameter: one of them can't be read, or they make no sense together.
    """
    first, last = moment(begin, option="--from"), moment(end, option="--to")
    if first > datetime.now(UTC):
        raise typer.BadParameter("this is in the future: there is nothing to replay yet", param_hint="--from")
    if last <= first:
        raise typer.BadParameter("this is not after --from: no event is between them", param_hint="--to")
    selection = RangeSelection(
        begin=first,
        end=last,
        types=_few([_type(text) for text in parts(types)], option="--type", most=MOST_CHOICES),
        aggregates=_few([_aggregate(text) for text in aggregates], option="--aggregate", most=MOST_CHOICES),
        ids=_few([_id(text) for text in parts(ids)], option="--id", most=MOST_IDS),
        targets=_few([_target(text) for text in parts(targets)], option="--target", most=MOST_TARGETS),
        events_from=_source(source),
    )
    if needs_types(selection.targets, selection.types):
        raise typer.BadParameter(NEEDS_TYPES, param_hint="--type")
    return selection


def rate_per_s(text: str) -> float:
    """Read --rate: a number, with /s behind it or not.

    >>> rate_per_s("50/s"), rate_per_s("0.5")
    (50.0, 0.5)
    """
    try:
        rate = float(text.removesuffix("/s"))
    except ValueError:
        rate = 0.0
    if not LEAST_RATE_PER_S <= rate <= MOST_RATE_PER_S:
        raise typer.BadParameter(
            f"use a number of {LEAST_RATE_PER_S:g} to {MOST_RATE_PER_S:g}, such as 50/s", param_hint="--rate"
        )
    return rate


def no_target(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """What is said where no target is named: which there are."""
    said = ["Say who gets the events: --target, once for each. Nobody else does. There are:"]
    for endpoint in EndpointStore(connection).list():
        types = ",".join(map(str, endpoint.event_types))
        said.append(f"  endpoint:{endpoint.id}  {types}{'' if endpoint.enabled else '  (disabled)'}")
    said += [f"  {handler}  (in the delivery log)" for handler in logged_handlers(connection)]
    said.append("  handler:NAME  (any other that your workers have)")
    return "\n".join(map(printable, said))


def _few(values: Sequence[_Value], *, option: str, most: int) -> tuple[_Value, ...]:
    different = tuple(dict.fromkeys(values))
    if len(different) > most:
        raise typer.BadParameter(f"{most} at most", param_hint=option)
    return different


def _type(text: str) -> EventFilter:
    try:
        return EventFilter(text)
    except EventFilterError as error:
        raise typer.BadParameter(str(error), param_hint="--type") from None


def _aggregate(text: str) -> str:
    if not is_aggregate(text):
        raise typer.BadParameter("give a type and an id, such as order/42", param_hint="--aggregate")
    return text


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise typer.BadParameter("an id is a UUID", param_hint="--id") from None


def _target(text: str) -> TargetName:
    try:
        return parse_target(f"endpoint:{text}" if text.startswith("ep_") else text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--target") from None


def _source(text: str) -> EventsFrom:
    known = next((name for name in _SOURCES if name == text), None)
    if known is None:
        raise typer.BadParameter(f"use {' or '.join(_SOURCES)}", param_hint="--source")
    return known
