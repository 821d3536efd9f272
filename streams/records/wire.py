"""How a delivery looks on the wire: Kafka headers around the payload's own bytes.

Headers are UTF-8 text, written whole at each hop and never appended, so a record does not grow as it travels
(spring-kafka's retry headers did). The value is the payload, untouched (INV-5). Errors are cut at 1 KB.

Pure. Everything that comes from Kafka is untrusted here: what can't be read raises `RecordMalformed`, nothing else.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import orjson

from outbox.event import Event
from streams.errors import RecordMalformed
from streams.records.delivery import Delivery, Origin
from streams.records.target import parse_target

__all__ = [
    "ERROR_MAX_BYTES",
    "Headers",
    "cut",
    "decode_delivery",
    "decode_event",
    "encode_delivery",
    "encode_event",
    "header_map",
    "read_int",
]

Headers = list[tuple[str, bytes]]

ERROR_MAX_BYTES = 1024


def header_map(headers: Iterable[tuple[str, bytes | str | None]] | None) -> dict[str, bytes]:
    """The headers by name; the last of a repeated name counts, a null value reads as absent."""
    return {
        name: value if isinstance(value, bytes) else value.encode()
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
        raise RecordMalformed(f"the record is no outbox event: {error}") from error


def decode_delivery(headers: dict[str, bytes], *, key: bytes | None, value: bytes | None) -> Delivery:
    """The delivery of a record on `outbox.redelivery`, a retry tier or the dead letters."""
    event = decode_event(headers, key=key, value=value)
    try:
        topic, partition, offset = _text(headers, "outbox-origin").rsplit("/", 2)
        replay_id = headers.get("outbox-replay-id")
        return Delivery(
            event=event,
            target=parse_target(_text(headers, "outbox-target")),
            origin=Origin(topic, int(partition), int(offset)),
            attempt=_count(headers, "outbox-attempt", least=1),
            deferrals=_count(headers, "outbox-deferrals", least=0)
            if headers.get("outbox-deferrals", b"") != b""
            else 0,
            first_failed_at_ms=read_int(headers, "outbox-first-failed-at"),
            replay_id=replay_id.decode() if replay_id is not None else None,
        )
    except RecordMalformed:
        raise
    except ValueError as error:
        raise RecordMalformed(f"the record of event {event.id} is no delivery: {error}") from error


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
    return headers


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


def cut(text: str, *, max_bytes: int = ERROR_MAX_BYTES) -> str:
    """The text, cut to so many bytes of UTF-8 without splitting a character.

    >>> cut("abc", max_bytes=2)
    'ab'
    """
    raw = text.encode(errors="replace")
    return text if len(raw) <= max_bytes else raw[:max_bytes].decode(errors="ignore")


def _text(headers: dict[str, bytes], name: str) -> str:
    raw = headers.get(name)
    if not raw:
        raise RecordMalformed(f"header {name} is missing")
    return raw.decode()


def _count(headers: dict[str, bytes], name: str, *, least: int) -> int:
    number = read_int(headers, name)
    if number is None or number < least:
        raise RecordMalformed(f"header {name} is missing or below {least}")
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
