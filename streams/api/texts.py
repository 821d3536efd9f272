"""The kinds of text and number in the API's requests: each with its bounds, its rule, and what it says when broken.

Place in the data's way: what `models` is written with. A rule's message never quotes the value: it may be a secret.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from connectors.webhook.endpoint import ENDPOINT_ID, LONGEST_WAIT, NOT_STORABLE
from connectors.webhook.errors import SecretInvalidError, UrlInvalidError
from connectors.webhook.secret import Secret
from connectors.webhook.static_headers import (
    MAX_HEADER_NAME_CHARS,
    MAX_HEADER_VALUE_CHARS,
    header_name_problem,
    header_value_problem,
)
from connectors.webhook.url import MAX_URL_CHARS, WebhookUrl
from outbox import EventFilter
from outbox.errors import OutboxError
from outbox.event_type import EVENT_TYPE_RULE, MAX_EVENT_TYPE_CHARACTERS, is_event_type

__all__ = [
    "UUID_FORM",
    "AgeSeconds",
    "DeadLetterId",
    "Description",
    "EndpointId",
    "ErrorCodeText",
    "EventId",
    "EventTypeFilter",
    "EventTypeText",
    "HeaderName",
    "HeaderValue",
    "MetadataKey",
    "MetadataValue",
    "Moment",
    "NamesDiffer",
    "Seconds",
    "SecretText",
    "TargetText",
    "UrlText",
]

UUID_FORM: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""The one form in which a UUID is taken. Python would take braces, too, and digits without groups."""

#: A restart of the workers takes less; a delivery that is given up sooner may not have had a single attempt.
_MIN_AGE_SECONDS: Final = 60.0
_MAX_SECONDS: Final = LONGEST_WAIT.total_seconds()
_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
#: RFC 3339, date-time. Python would also take a week, a day alone, or a time of no zone.
_DATE_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})",
    re.IGNORECASE,
)


def _broken(message: str) -> PydanticCustomError:
    # The message is a template in which braces stand for values.
    return PydanticCustomError("rule", "{message}", {"message": message})


def _url(text: str) -> str:
    try:
        WebhookUrl.parse(text)
    except UrlInvalidError as error:
        raise _broken(str(error)) from None
    return text


def _secret(text: str) -> str:
    try:
        Secret.parse(text)
    except SecretInvalidError as error:
        raise _broken(str(error)) from None
    return text


def _event_filter(text: str) -> str:
    try:
        EventFilter(text)
    except OutboxError:
        raise _broken("this is no event filter; use order.created, order.* or *") from None
    return text


def _event_type(text: str) -> str:
    if not is_event_type(text):
        raise _broken(f"this is no event type: {EVENT_TYPE_RULE}")
    return text


def _uuid(text: object) -> UUID:
    if not isinstance(text, str) or not UUID_FORM.fullmatch(text):
        raise _broken("this is no id of an event, which is a UUID of 32 hexadecimal digits in five groups")
    return UUID(text)


def _dead_letter_id(text: object) -> UUID:
    if not isinstance(text, str) or not UUID_FORM.fullmatch(text):
        raise _broken(
            "this is no id of a dead letter, which is a UUID of 32 hexadecimal digits in five groups"
        )
    return UUID(text)


def _moment(text: object) -> datetime:
    moment = _date_time(text) if isinstance(text, str) and _DATE_TIME.fullmatch(text) else None
    if moment is None:
        raise _broken(
            "this is no time as in RFC 3339, such as 2026-11-30T14:00:00Z; in a URL, write a + as %2B"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        # The first or the last day that there is: in UTC it is before or after all of them, and so of every event.
        return _FIRST if moment.year == 1 else _LAST


def _date_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None


def _header_name(text: str) -> str:
    problem = header_name_problem(text.lower())
    if problem:
        raise _broken(problem)
    return text.lower()


def _header_value(text: str) -> str:
    problem = header_value_problem(text)
    if problem:
        raise _broken(problem)
    return text


def _names_differ(headers: object) -> object:
    if isinstance(headers, dict) and len({str(name).lower() for name in headers}) < len(headers):
        raise _broken("two names differ only in upper and lower case; a header is given once")
    return headers


def _storable(text: str) -> str:
    if NOT_STORABLE.search(text):
        raise _broken("this holds a NUL or half of a surrogate pair, which can't be stored")
    return text


EndpointId = Annotated[
    str,
    Field(pattern=f"^{ENDPOINT_ID.pattern}$", description="`ep_` and up to 64 letters, digits, _ or -."),
]
TargetText = Annotated[
    str,
    Field(
        pattern=r"^(handler|endpoint):[A-Za-z0-9_.-]{1,200}$",
        description="`endpoint:<id>` or `handler:<name>`.",
        examples=["handler:billing"],
    ),
]
EventId = Annotated[
    UUID, BeforeValidator(_uuid), Field(description="The event's id, which is its `webhook-id`.")
]
DeadLetterId = Annotated[UUID, BeforeValidator(_dead_letter_id)]
ErrorCodeText = Annotated[
    str,
    Field(
        pattern=r"^[A-Z][A-Z0-9_]{0,63}$",
        description="An error code.",
        examples=["ENDPOINT_EXHAUSTED"],
    ),
]
EventTypeText = Annotated[
    str,
    AfterValidator(_event_type),
    Field(
        max_length=MAX_EVENT_TYPE_CHARACTERS,
        description="One event type; no `*`.",
        examples=["order.created"],
        json_schema_extra={"pattern": r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$"},
    ),
]
Moment = Annotated[datetime, BeforeValidator(_moment)]
UrlText = Annotated[
    str,
    AfterValidator(_url),
    Field(
        min_length=1,
        max_length=MAX_URL_CHARS,
        pattern=r"^https?://",
        description="Where events are posted to. No user name or password in it, and no fragment.",
        examples=["https://receiver.example/in"],
    ),
]
EventTypeFilter = Annotated[
    str,
    AfterValidator(_event_filter),
    Field(
        min_length=1,
        max_length=202,
        description="`order.created`, `order.*` or `*`.",
        examples=["order.*"],
    ),
]
SecretText = Annotated[
    str,
    AfterValidator(_secret),
    Field(
        max_length=200,
        description="`whsec_` and the base64 of 24 to 64 random bytes (Standard Webhooks 1.0.0).",
    ),
]
Description = Annotated[
    str, AfterValidator(_storable), Field(max_length=1_000, description="For people; shown in lists.")
]
MetadataKey = Annotated[str, AfterValidator(_storable), Field(min_length=1, max_length=64)]
MetadataValue = Annotated[str, AfterValidator(_storable), Field(max_length=500)]
HeaderName = Annotated[
    str, Field(min_length=1, max_length=MAX_HEADER_NAME_CHARS), AfterValidator(_header_name)
]
HeaderValue = Annotated[
    str, Field(min_length=1, max_length=MAX_HEADER_VALUE_CHARS), AfterValidator(_header_value)
]
NamesDiffer: Final = BeforeValidator(_names_differ)
"""Of headers: no two names are one to HTTP."""

AgeSeconds = Annotated[float, Field(ge=_MIN_AGE_SECONDS, le=_MAX_SECONDS, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0.1, le=_MAX_SECONDS, allow_inf_nan=False)]
