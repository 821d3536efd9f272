"""What the API takes for replays: of a recovery the time, of a range which events and to whom."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from streams.api.models import Request
from streams.api.texts import EventId, EventTypeFilter, Moment, TargetText
from streams.replay.pace import DEFAULT_RATE_PER_S, LEAST_RATE_PER_S, MOST_RATE_PER_S
from streams.replay.range_selection import (
    MOST_CHOICES,
    MOST_IDS,
    MOST_TARGETS,
    EventsFrom,
    is_aggregate,
)

__all__ = ["AggregateText", "RangeReplay", "Recovery"]

_MOST_AGGREGATE_CHARACTERS = 712
"""A type of 200 bytes, an id of 512, as in the outbox table."""


def _aggregate(text: str) -> str:
    if not is_aggregate(text):
        raise PydanticCustomError("rule", "this is no aggregate: give its type and its id, such as order/42")
    return text


AggregateText = Annotated[
    str,
    AfterValidator(_aggregate),
    Field(
        min_length=3,
        max_length=_MOST_AGGREGATE_CHARACTERS + 1,
        description="An aggregate's type and its id.",
        examples=["order/42"],
        json_schema_extra={"pattern": r"^[^/\u0000]+/[^\u0000]+$"},
    ),
]
Rate = Annotated[
    float,
    Field(
        ge=LEAST_RATE_PER_S,
        le=MOST_RATE_PER_S,
        allow_inf_nan=False,
        description="How many are sent a second, at most.",
    ),
]


class Recovery(Request):
    """Which events an endpoint is to be sent that it has not got."""

    since: Moment = Field(description="Events that were committed then or later.")
    until: Moment | None = Field(
        default=None,
        description="Events that were committed before then; null: all there are when it starts.",
    )
    rate_per_s: Rate = DEFAULT_RATE_PER_S


class RangeReplay(Request):
    """Which events are sent again, and to whom: all that is given must hold, and of a list any one will do."""

    # `from` is no name in Python; it is one in JSON.
    begin: Moment = Field(alias="from", description="Events that were committed then or later.")
    end: Moment = Field(
        alias="to",
        description="Events that were committed before then. It ends with what is there when it starts.",
    )
    types: list[EventTypeFilter] = Field(
        default_factory=list,
        max_length=MOST_CHOICES,
        description="Of these types only. Required where a handler is named, which gets what is named here; an "
        "endpoint gets of it what it wants.",
    )
    aggregates: list[AggregateText] = Field(
        default_factory=list, max_length=MOST_CHOICES, description="About these only."
    )
    ids: list[EventId] = Field(default_factory=list, max_length=MOST_IDS, description="These only.")
    targets: list[TargetText] = Field(
        min_length=1, max_length=MOST_TARGETS, description="Who gets them. Nobody else does."
    )
    source: EventsFrom = Field(
        default="kafka",
        description="Where they are read. `postgres`: from the rows of the outbox table, where they are kept for "
        "longer than Kafka keeps events.",
    )
    rate_per_s: Rate = DEFAULT_RATE_PER_S
