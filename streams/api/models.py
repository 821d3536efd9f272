"""What the API takes: the models that validate requests, and from which the OpenAPI document is made.

Place in the data's way: between a request's JSON and an operation. Strict: a number in quotes is no number, and a
field that is not known here is refused, since a setting that silently does nothing is found too late.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from connectors.postgres.log_rows import DeliveryStatus
from connectors.webhook.endpoint import MAX_CONCURRENCY, MAX_RATE_PER_S, MAX_WAITS, MIN_RATE_PER_S
from connectors.webhook.rotation import DEFAULT_OVERLAP, LONGEST_OVERLAP
from connectors.webhook.static_headers import MAX_HEADERS
from streams.api.backoff import Backoff
from streams.api.texts import (
    AgeSeconds,
    Description,
    EndpointId,
    EventId,
    EventTypeFilter,
    EventTypeText,
    HeaderName,
    HeaderValue,
    MetadataKey,
    MetadataValue,
    Moment,
    NamesDiffer,
    Seconds,
    SecretText,
    TargetText,
    UrlText,
)

__all__ = [
    "MAX_METADATA",
    "AuditQuery",
    "DeliveriesQuery",
    "EndpointChange",
    "EndpointNew",
    "NoFields",
    "NoQuery",
    "PageQuery",
    "Request",
    "Rotation",
]

MAX_EVENT_TYPES: Final = 100
MAX_METADATA: Final = 50
MAX_CURSOR_CHARS: Final = 200

_HEADERS = "Sent with each request, a token of the receiver's for example. Values are never shown again."
_METADATA = "Yours: stored and given back, and otherwise without meaning."
_TIMEOUT = "For one attempt, in seconds; null: OUTBOX_ENDPOINT_TIMEOUT_S, which is also the most."
_SCHEDULE = "The waits between attempts, in seconds, one fewer than attempts; null: OUTBOX_ENDPOINT_SCHEDULE."
_BACKOFF = "Another way to give `schedule_s`: waits that double. What is stored, and shown, is the list."
_CONCURRENCY = (
    "Attempts under way at once, over all workers, and one from each of them at least; null: "
    "OUTBOX_ENDPOINT_CONCURRENCY, from each worker."
)
_RATE = (
    "Attempts a second, over all workers; 0.0167 is one a minute. What comes faster waits, and costs no attempt; null: "
    "no limit."
)
_FILTER = (
    "Which payloads it wants; null: all. An object that mirrors the payload's, with a list of alternatives at each "
    "leaf: texts, numbers, true, false, null, or an object with prefix, suffix, anything-but, numeric or exists."
)
_MAX_AGE = "How old a delivery may become, in seconds; null: OUTBOX_ENDPOINT_MAX_AGE_HOURS."

EventTypes = Annotated[
    list[EventTypeFilter],
    Field(min_length=1, max_length=MAX_EVENT_TYPES, description="The event types it wants; any of them."),
]
Schedule = Annotated[list[Seconds], Field(max_length=MAX_WAITS)]


def _instead(backoff: Backoff | None, info: ValidationInfo) -> Backoff | None:
    if backoff is not None and info.data.get("schedule_s") is not None:
        raise PydanticCustomError("schedule_twice", "give this or schedule_s, not both")
    return backoff


InsteadOfSchedule = AfterValidator(_instead)
Concurrency = Annotated[int, Field(ge=1, le=MAX_CONCURRENCY)]
Rate = Annotated[float, Field(ge=MIN_RATE_PER_S, le=MAX_RATE_PER_S, allow_inf_nan=False)]
#: Its grammar is checked where the endpoint is made, after a merge patch has been merged.
Filter = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra={"additionalProperties": {"type": ["object", "array", "null"]}},
        examples=[
            {"country": ["DE", "AT"], "total": [{"numeric": [">=", 100]}], "test": [{"exists": False}]}
        ],
    ),
]


class Request(BaseModel):
    """What is sent in."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class EndpointNew(Request):
    """A new endpoint."""

    id: EndpointId | None = Field(
        default=None,
        description="Its id; null: one is made. With an id of your own, a repeated request makes no second endpoint.",
    )
    url: UrlText
    event_types: EventTypes
    description: Description = ""
    enabled: bool = Field(default=True, description="Whether events are sent to it.")
    secret: SecretText | None = Field(
        default=None, description="The secret that signs; null: one is made, and shown in the answer, once."
    )
    headers: Annotated[dict[HeaderName, HeaderValue], NamesDiffer] = Field(
        default_factory=dict, max_length=MAX_HEADERS, description=_HEADERS
    )
    metadata: dict[MetadataKey, MetadataValue] = Field(
        default_factory=dict, max_length=MAX_METADATA, description=_METADATA
    )
    timeout_s: Seconds | None = Field(default=None, description=_TIMEOUT)
    schedule_s: Schedule | None = Field(default=None, description=_SCHEDULE)
    backoff: Annotated[Backoff | None, InsteadOfSchedule] = Field(default=None, description=_BACKOFF)
    max_age_s: AgeSeconds | None = Field(default=None, description=_MAX_AGE)
    concurrency: Concurrency | None = Field(default=None, description=_CONCURRENCY)
    rate_limit_per_s: Rate | None = Field(default=None, description=_RATE)
    payload_filter: Filter | None = Field(default=None, description=_FILTER)


class EndpointChange(Request):
    """A change of an endpoint: a JSON merge patch (RFC 7396). What is not given stays; null removes."""

    url: UrlText = Field(default_factory=str)
    event_types: EventTypes = Field(default_factory=list)
    description: Description | None = None
    enabled: bool = Field(default_factory=bool)
    headers: Annotated[dict[HeaderName, HeaderValue | None] | None, NamesDiffer] = Field(
        default=None, max_length=MAX_HEADERS, description=f"{_HEADERS} A value of null removes a header."
    )
    metadata: dict[MetadataKey, MetadataValue | None] | None = Field(
        default=None, max_length=MAX_METADATA, description=f"{_METADATA} A value of null removes an entry."
    )
    timeout_s: Seconds | None = Field(default=None, description=_TIMEOUT)
    schedule_s: Schedule | None = Field(default=None, description=_SCHEDULE)
    backoff: Annotated[Backoff | None, InsteadOfSchedule] = Field(default=None, description=_BACKOFF)
    max_age_s: AgeSeconds | None = Field(default=None, description=_MAX_AGE)
    concurrency: Concurrency | None = Field(default=None, description=_CONCURRENCY)
    rate_limit_per_s: Rate | None = Field(default=None, description=_RATE)
    payload_filter: Filter | None = Field(
        default=None, description=f"{_FILTER} Merged; null within it removes a field."
    )


class Rotation(Request):
    """A rotation of the secret."""

    secret: SecretText | None = Field(
        default=None,
        description="The new secret; null: one is made, and shown in the answer, once. With a secret of your own, a "
        "repeated request rotates once.",
    )
    overlap_s: int = Field(
        default=int(DEFAULT_OVERLAP.total_seconds()),
        ge=0,
        le=int(LONGEST_OVERLAP.total_seconds()),
        description="How long the old secrets go on signing beside the new one, in seconds.",
    )


class NoFields(Request):
    """Nothing, or `{}`."""


class NoQuery(Request):
    """No parameters."""


Cursor = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_CURSOR_CHARS,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="`next_cursor` of the page before.",
    ),
]


class PageQuery(Request):
    """Which page of a list."""

    # Not strict: in a query, every number is a text.
    limit: int = Field(default=50, ge=1, le=200, strict=False, description="How many at most.")
    cursor: Cursor | None = None


class AuditQuery(PageQuery):
    """Which page of the audit table."""

    endpoint_id: EndpointId | None = Field(default=None, description="Of one endpoint only.")


class DeliveriesQuery(PageQuery):
    """Which deliveries, and which page of them: all that is given must hold."""

    endpoint_id: EndpointId | None = Field(default=None, description="To this endpoint; or give `target`.")
    target: TargetText | None = None
    event_id: EventId | None = None
    event_type: EventTypeText | None = None
    status: tuple[DeliveryStatus, ...] = Field(
        default=(), description="Any of these: repeat the parameter, or separate them by commas."
    )
    since: Moment | None = Field(default=None, description="Events that were committed then or later.")
    until: Moment | None = Field(default=None, description="Events that were committed before then.")
