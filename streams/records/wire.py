"""How a delivery looks on the wire: Kafka headers around the payload's own bytes.

Headers are UTF-8 text, written whole at each hop and never appended, so a record does not grow as it travels
(spring-kafka's retry headers did). The value is the payload, untouched (INV-5). Errors are cut at 1 KB.

Pure. Everything that comes from Kafka is untrusted here: what can't be read raises `RecordMalformed`, nothing else.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

import orjson

from outbox.event import Event
from streams.errors import RecordMalformed
from streams.records.delivery import Delivery, Origin, Unrouted
from streams.records.target import parse_target

__all__ = [
    "ERROR_MAX_BYTES",
    "Headers",
    "cut",
    "decode_delivery",
    "decode_event",
    "decode_unrouted",
    "encode_delivery",
    "encode_event",
    "encode_unrouted",
    "header_map",
    "is_unrouted",
    "read_int",
    "read_origin",
]

Headers = list[tuple[str, bytes]]

ERROR_MAX_BYTES = 1024
#: Kafka's own bound: partitions are numbered with 32 bits.
_PARTITION_MAX = 2**31 - 1
#: No delivery gets there, and one more can still be written: a count that grew out of its header could not be
#: read at the next hop.
_COUNT_MAX = 10**9


def header_map(headers: Iterable[tuple[str, bytes | str | None]] | None) -> dict[str, bytes]:
    """The headers by name; the last of a repeated name counts, a null value reads as absent."""
    return {
        name: value if isinstance(value, bytes) else value.encode(errors="replace")
        for name, value in headers or ()
        if value is not None
    }


def decode_event(headers: dict[str, bytes], *, key: bytes | None, value: bytes | None) -> Event:
    """The event of a record on `outbox.events` or on any hop after it.

    A null value is an empty payload: the router turns an empty text into a tombstone.
    """
    try:
        return Event(
            id=UUID(_text(headers, "id")),
            type=_text(headers, "type"),
            aggregate_type=_text(headers, "aggregate-type"),
            aggregate_id=(key or b"").decode(),
            payload=value or b"",
            content_type=_text(headers, "content-type"),
            headers=_event_headers(headers.get("headers")),
            created_at=_timestamp(_text(headers, "created-at")),
        )
    except RecordMalformed:
        raise
    except (ValueError, OverflowError) as error:
        raise RecordMalformed(f"the record is no outbox event: {_brief(error)}") from error


def decode_delivery(headers: dict[str, bytes], *, key: bytes | None, value: bytes | None) -> Delivery:
    """The delivery of a record on `outbox.redelivery`, a retry tier or the dead letters."""
    event = decode_event(headers, key=key, value=value)
    try:
        replay_id = headers.get("outbox-replay-id")
        return Delivery(
            event=event,
            target=parse_target(_text(headers, "outbox-target")),
            origin=read_origin(headers),
            attempt=_count(headers, "outbox-attempt", least=1),
            deferrals=_count(headers, "outbox-deferrals", least=0)
            if headers.get("outbox-deferrals", b"") != b""
            else 0,
            first_failed_at_ms=read_int(headers, "outbox-first-failed-at"),
            replay_id=replay_id.decode() if replay_id is not None else None,
            booked_for_ms=read_int(headers, "outbox-booked-for"),
            held_since_ms=read_int(headers, "outbox-held-since"),
        )
    except RecordMalformed:
        raise
    except ValueError as error:
        raise RecordMalformed(f"the record of event {event.id} is no delivery: {_brief(error)}") from error


def is_unrouted(headers: Mapping[str, bytes]) -> bool:
    """Whether a record on `outbox.redelivery` is an event for whoever wants it, and no delivery to a target."""
    return "outbox-target" not in headers and "outbox-replay-id" in headers


def decode_unrouted(headers: dict[str, bytes], *, key: bytes | None, value: bytes | None) -> Unrouted:
    """The event of such a record."""
    return Unrouted(
        event=decode_event(headers, key=key, value=value),
        origin=read_origin(headers),
        replay_id=_text(headers, "outbox-replay-id"),
    )


def encode_event(event: Event) -> Headers:
    """The headers of an event, as Debezium's outbox router writes them."""
    return [
        ("id", str(event.id).encode()),
        ("type", event.type.encode()),
        ("aggregate-type", event.aggregate_type.encode()),
        ("content-type", event.content_type.encode()),
        ("headers", orjson.dumps(dict(event.headers))),
        ("created-at", event.created_at.isoformat().encode()),
    ]


def encode_delivery(delivery: Delivery) -> Headers:
    """All headers of a delivery, except those that only its next hop knows (due time, error)."""
    headers = encode_event(delivery.event)
    headers += [
        ("outbox-target", str(delivery.target).encode()),
        ("outbox-attempt", b"%d" % delivery.attempt),
        ("outbox-deferrals", b"%d" % delivery.deferrals),
        ("outbox-origin", str(delivery.origin).encode()),
    ]
    if delivery.first_failed_at_ms is not None:
        headers.append(("outbox-first-failed-at", b"%d" % delivery.first_failed_at_ms))
    if delivery.replay_id is not None:
        headers.append(("outbox-replay-id", delivery.replay_id.encode()))
    if delivery.booked_for_ms is not None:
        headers.append(("outbox-booked-for", b"%d" % delivery.booked_for_ms))
    if delivery.held_since_ms is not None:
        headers.append(("outbox-held-since", b"%d" % delivery.held_since_ms))
    return headers


def encode_unrouted(unrouted: Unrouted) -> Headers:
    """All headers of an event that is routed again."""
    return [
        *encode_event(unrouted.event),
        ("outbox-origin", str(unrouted.origin).encode()),
        ("outbox-replay-id", unrouted.replay_id.encode()),
    ]


def read_int(headers: dict[str, bytes], name: str) -> int | None:
    """A whole number from a header, None where it is absent; RecordMalformed where it is anything else."""
    raw = headers.get(name)
    if raw is None:
        return None
    # int() takes signs, spaces and underscores; the wire has plain digits, and no number here is longer
    # than a timestamp.
    if not raw.isdigit() or len(raw) > 18:  # noqa: PLR2004
        raise RecordMalformed(f"header {name} is {raw[:40]!r}, not a whole number")
    return int(raw)


def read_origin(headers: dict[str, bytes]) -> Origin:
    """Where the event was first read; RecordMalformed where that is missing or is no place in a topic."""
    place = _text(headers, "outbox-origin").rsplit("/", 2)
    # As in read_int: plain digits only, and of those no more than fit.
    numbers = [int(text) for text in place[1:] if text.isascii() and text.isdigit() and len(text) <= 18]  # noqa: PLR2004
    if len(numbers) != 2 or numbers[0] > _PARTITION_MAX:  # noqa: PLR2004 - partition and offset
        raise RecordMalformed("header outbox-origin is not topic/partition/offset")
    return Origin(place[0], *numbers)


def cut(text: str, *, max_bytes: int = ERROR_MAX_BYTES) -> str:
    """The text, cut to so many bytes of UTF-8 without splitting a character.

    >>> cut("abc", max_bytes=2)
    'ab'
    """
    # A lone surrogate (an exception's text may hold one) can't be written anywhere: "?" stands for it.
    return text.encode(errors="replace")[:max_bytes].decode(errors="ignore")


def _brief(error: Exception) -> str:
    """What Python says of a value quotes it whole, however long it is."""
    return cut(str(error), max_bytes=200)


def _text(headers: dict[str, bytes], name: str) -> str:
    raw = headers.get(name)
    if not raw:
        raise RecordMalformed(f"header {name} is missing")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise RecordMalformed(f"header {name} is not UTF-8") from error


def _count(headers: dict[str, bytes], name: str, *, least: int) -> int:
    number = read_int(headers, name)
    if number is None or number < least:
        raise RecordMalformed(f"header {name} is missing or below {least}")
    if number > _COUNT_MAX:
        raise RecordMalformed(f"header {name} is above {_COUNT_MAX}, which no delivery gets to")
    return number


def _event_headers(raw: bytes | None) -> dict[str, str]:
    if raw is None or raw in (b"", b"{}", b"null"):
        return {}
    parsed = orjson.loads(raw)
    if not isinstance(parsed, dict) or not all(isinstance(value, str) for value in parsed.values()):
        raise RecordMalformed("header headers is not a JSON object of texts")
    return parsed


def _timestamp(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise RecordMalformed(f"header created-at is {text[:40]!r}, without a time zone")
    return moment
