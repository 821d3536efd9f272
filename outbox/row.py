"""The outbox row: the record that `append` writes, valid once it exists.

First in the data's way: `OutboxRow → Event → Delivery → Attempt → Outcome`. Pure: nothing here reads a clock
or a database. The table's CHECK constraints (`connectors/postgres/migrations`) refuse the same rows, for
programs that write to it without this library; one table of cases in the tests holds both to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from uuid import UUID

from outbox.errors import InvalidFieldError
from outbox.event_id import new_event_id
from outbox.event_type import EVENT_TYPE_RULE, RESERVED_EVENT_TYPES, is_event_type
from outbox.headers import headers_json
from outbox.payload import payload_text

__all__ = [
    "DEFAULT_CONTENT_TYPE",
    "MAX_AGGREGATE_ID_BYTES",
    "MAX_AGGREGATE_TYPE_BYTES",
    "MAX_CONTENT_TYPE_BYTES",
    "OutboxRow",
]

DEFAULT_CONTENT_TYPE: Final = "application/json"
MAX_AGGREGATE_TYPE_BYTES: Final = 200
MAX_AGGREGATE_ID_BYTES: Final = 512
MAX_CONTENT_TYPE_BYTES: Final = 200

# Type and subtype as in RFC 6838, section 4.2; then parameters, of which only the character set is checked.
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:;[\x20-\x7e]*[\x21-\x7e])?")
_JSON_MEDIA_TYPE: Final = re.compile(r"application/json|[^;]+\+json", re.IGNORECASE)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """One event to append, as text. Make it with `OutboxRow.of`, which takes what an application has.

    Attributes:
        id: the event's id, for ever: the `webhook-id` that receivers see.
        type: what happened, as words joined by dots: `order.created`. Handlers and endpoints filter by it.
        aggregate_type: what kind of thing it happened to.
        aggregate_id: to which one. The Kafka key: events of one aggregate id keep their order on the way.
        payload: the text to deliver, verbatim.
        content_type: its media type.
        headers: a JSON object of text.
    """

    id: UUID
    type: str
    aggregate_type: str
    aggregate_id: str
    payload: str = field(repr=False)
    content_type: str
    headers: str = field(repr=False)

    @classmethod
    def of(
        cls,
        *,
        type: str,  # noqa: A002 - the vocabulary's word for it, and the column's name
        aggregate: tuple[str, str],
        payload: object,
        headers: Mapping[str, str] | None = None,
        content_type: str | None = None,
        id: UUID | None = None,  # noqa: A002 - as above
    ) -> Self:
        """Check the fields of an event, and make the row of them.

        Args:
            type: e.g. `"order.created"`.
            aggregate: the type and the id of what the event is about, e.g. `("order", "42")`.
            payload: bytes (UTF-8) or str, stored verbatim; or an object, stored as JSON.
            headers: text beside the payload, e.g. a trace context.
            content_type: the payload's media type; `application/json` if it isn't given.
            id: the event's id, if the caller has one; a new one in the order of time otherwise.

        Raises:
            InvalidFieldError: a field that can't be stored. Its message never holds the payload.

        >>> OutboxRow.of(type="order.created", aggregate=("order", "42"), payload={"total": "9.90"}).payload
        '{"total":"9.90"}'
        >>> OutboxRow.of(type="order created", aggregate=("order", "42"), payload="{}")
        Traceback (most recent call last):
        outbox.errors.InvalidFieldError: type: 'order created' is no event type. Use ...
        """
        aggregate_type, aggregate_id = _pair(aggregate)
        media_type = DEFAULT_CONTENT_TYPE if content_type is None else content_type
        _check_type(type)
        _check_aggregate("type", aggregate_type, MAX_AGGREGATE_TYPE_BYTES)
        _check_aggregate("id", aggregate_id, MAX_AGGREGATE_ID_BYTES)
        _check_content_type(media_type, payload)
        _check_id(id)
        return cls(
            id=new_event_id() if id is None else id,
            type=type,
            aggregate_type=aggregate_type,
            aggregate_id=aggregate_id,
            payload=payload_text(payload),
            content_type=media_type,
            headers=headers_json(headers),
        )


def _pair(aggregate: object) -> tuple[str, str]:
    match aggregate:
        case (str(aggregate_type), str(aggregate_id)):
            return aggregate_type, aggregate_id
        case (_, _):
            problem = "has a part that is not a str"
        case _:
            problem = "is not a pair"
    raise InvalidFieldError(
        "aggregate", problem, 'Give its type and its id as text, such as ("order", "42").'
    )


def _check_type(event_type: object) -> None:
    if not isinstance(event_type, str):
        raise InvalidFieldError("type", f"is {type(event_type).__name__}", f"Use {EVENT_TYPE_RULE}.")
    if not is_event_type(event_type):
        raise InvalidFieldError("type", f"{event_type[:200]!r} is no event type", f"Use {EVENT_TYPE_RULE}.")
    if event_type in RESERVED_EVENT_TYPES:
        raise InvalidFieldError(
            "type",
            f"{event_type!r} is reserved",
            "The recorder alone says this, of endpoints of this outbox: choose another type.",
        )


def _check_aggregate(part: str, text: str, limit_bytes: int) -> None:
    rule = (
        f"It becomes part of the Kafka record: 1 to {limit_bytes} bytes of text without control characters."
    )
    if not text:
        raise InvalidFieldError("aggregate", f"its {part} is empty", rule)
    if _CONTROL.search(text):
        raise InvalidFieldError("aggregate", f"its {part} has a control character", rule)
    size_bytes = len(text.encode(errors="surrogatepass"))
    if size_bytes > limit_bytes:
        raise InvalidFieldError("aggregate", f"its {part} has {size_bytes} bytes", rule)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidFieldError("aggregate", f"its {part} has half of a surrogate pair", rule)


def _check_content_type(content_type: object, payload: object) -> None:
    advice = (
        f"Give a media type such as 'text/csv; charset=utf-8', {MAX_CONTENT_TYPE_BYTES} characters at most."
    )
    if not isinstance(content_type, str):
        raise InvalidFieldError("content_type", f"is {type(content_type).__name__}", advice)
    if len(content_type) > MAX_CONTENT_TYPE_BYTES or not _MEDIA_TYPE.fullmatch(content_type):
        raise InvalidFieldError("content_type", f"{content_type[:200]!r} is no media type", advice)
    verbatim = payload is None or isinstance(payload, str | bytes | bytearray | memoryview)
    if not verbatim and not _JSON_MEDIA_TYPE.match(content_type):
        raise InvalidFieldError(
            "content_type",
            f"{content_type!r}, but the payload is an object ({type(payload).__name__}), which is stored as "
            "JSON",
            "Give the payload as str or bytes in the form that the content type names.",
        )


def _check_id(event_id: object) -> None:
    if event_id is not None and not isinstance(event_id, UUID):
        raise InvalidFieldError("id", f"is {type(event_id).__name__}", "Give a uuid.UUID, or leave it out.")
