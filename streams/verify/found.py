"""What stands on Kafka, as the reconciliation takes it: events, and deliveries that wait. Pure.

Place in the data's way: between the reading of a range and the tables. Everything from Kafka is untrusted: what can't
be read is left out here, for a worker makes a dead letter of it, and that is found among those. A million
records come by here within seconds, so no more of each is read than is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.reconciliation import FoundEvent, HeldDelivery, Period
from streams.errors import RecordMalformed
from streams.records.wire import decode_event, header_map
from streams.verify.expectation import Expectation

__all__ = ["found_events", "held_deliveries"]

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MS: Final = 1_000


def found_events(
    records: Iterable[ReadRecord],
    *,
    period: Period,
    committed: Mapping[int, int],
    expectation: Expectation,
) -> Iterator[FoundEvent]:
    """The events of a period among records of `outbox.events`.

    Args:
        records: as they were read.
        period: which events.
        committed: per partition the offset that the workers have committed.
        expectation: says of each whether it may have gone to nobody.
    """
    for record in records:
        try:
            headers = header_map(record.headers)
            created_at = _moment(headers["created-at"])
            if not period.since <= created_at < period.until:
                continue
            event_type = _text(headers["type"])
            yield FoundEvent(
                _id(headers["id"]),
                event_type,
                created_at,
                record.offset >= committed.get(record.partition, 0),
                _unwanted(record, headers, event_type, expectation),
            )
        except (KeyError, ValueError, OverflowError, RecordMalformed):
            continue


def held_deliveries(records: Iterable[ReadRecord]) -> Iterator[HeldDelivery]:
    """The deliveries that wait, among records of a retry topic or of `outbox.redelivery`."""
    for record in records:
        headers = header_map(record.headers)
        try:
            yield HeldDelivery(
                _id(headers["id"]),
                _text(headers.get("outbox-target", b"")),
                _text(headers.get("outbox-replay-id", b"")),
            )
        except (KeyError, ValueError):
            continue


def _unwanted(
    record: ReadRecord, headers: dict[str, bytes], event_type: str, expectation: Expectation
) -> bool:
    if not expectation.is_filtered(event_type):
        return expectation.unwanted(event_type)
    event = decode_event(headers, key=record.key, value=record.value)
    return expectation.unwanted(event_type, event)


def _moment(raw: bytes) -> datetime:
    """To the millisecond, as the log has it."""
    moment = datetime.fromisoformat(raw.decode())
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.replace(microsecond=moment.microsecond // _MS * _MS)


def _id(raw: bytes) -> str:
    text = raw.decode()
    return text if _UUID.fullmatch(text) else str(UUID(text))


def _text(raw: bytes) -> str:
    if b"\0" in raw:
        raise ValueError("a NUL, which Postgres can't store")
    return raw.decode()
