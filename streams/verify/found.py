"""What stands on Kafka, as the reconciliation takes it: events, and deliveries that wait. Pure.

Place in the data's way: between the reading of a range and the tables. Everything from Kafka is untrusted: what can't
be read is left out here, for a worker makes a dead letter of it, and that is found among those. A million
records come by here within seconds, so no more of each is read than is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, cast
from uuid import UUID

from confluent_kafka import Message

from connectors.epoch import to_the_ms
from connectors.kafka.message_headers import message_headers
from connectors.postgres.reconciliation import FoundEvent, HeldDelivery, Period
from streams.errors import RecordMalformed
from streams.records.wire import decode_event, header_map
from streams.verify.expectation import Expectation

__all__ = ["found_events", "held_deliveries"]

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def found_events(
    messages: Iterable[Message],
    *,
    period: Period,
    committed: Mapping[int, int],
    expectation: Expectation,
) -> Iterator[FoundEvent]:
    """The events of a period among messages of `outbox.events`.

    Args:
        messages: as they were read, none of them an error.
        period: which events.
        committed: per partition the offset that the workers have committed.
        expectation: says of each whether it may have gone to nobody.
    """
    for message in messages:
        headers = dict(message_headers(message))
        try:
            created_at = _moment(headers["created-at"])
            if not period.since <= created_at < period.until:
                continue
            event_type = _text(headers["type"])
            offset, number = cast("tuple[int, int]", (message.offset(), message.partition()))
            yield FoundEvent(
                _id(headers["id"]),
                event_type,
                created_at,
                offset >= committed.get(number, 0),
                _unwanted(message, event_type, expectation),
            )
        except (KeyError, ValueError, OverflowError):
            continue


def held_deliveries(messages: Iterable[Message]) -> Iterator[HeldDelivery]:
    """The deliveries that wait, among messages of a retry topic or of `outbox.redelivery`."""
    for message in messages:
        headers = dict(message_headers(message))
        try:
            yield HeldDelivery(
                _id(headers["id"]),
                _text(headers.get("outbox-target") or b""),
                _text(headers.get("outbox-replay-id") or b""),
            )
        except (KeyError, ValueError):
            continue


def _unwanted(message: Message, event_type: str, expectation: Expectation) -> bool:
    if not expectation.is_filtered(event_type):
        return expectation.unwanted(event_type)
    headers = header_map(message_headers(message))
    try:
        event = decode_event(headers, key=message.key(), value=message.value())
    except RecordMalformed:
        return False  # it is there, and a worker makes a dead letter of it
    return expectation.unwanted(event_type, event)


def _moment(raw: bytes | None) -> datetime:
    """To the millisecond, as the log has it."""
    moment = datetime.fromisoformat(_text(raw))
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return to_the_ms(moment)


def _id(raw: bytes | None) -> str:
    text = _text(raw)
    return text if _UUID.fullmatch(text) else str(UUID(text))


def _text(raw: bytes | None) -> str:
    if raw is None or b"\0" in raw:
        raise ValueError("nothing, or a NUL, which Postgres can't store")
    return raw.decode()
