"""Dead letters as workers bury them: records for the topic, as the recorder reads them, and their rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg

from connectors.kafka.record import OutgoingRecord
from connectors.postgres.dead_letter import DeadLetterRow
from connectors.postgres.dead_letter_id import dead_letter_id
from connectors.postgres.dead_letter_writer import DeadLetterWriter
from streams import topics
from streams.dispatch.hops import dead_record, records_after
from streams.recorder.batch import Place
from streams.recorder.source import Incoming
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.next_hop import DeadLetter
from streams.records.outcome import ErrorCode, Rejected
from streams.records.wire import encode_event, header_map
from tests.support.deliveries import NOW_MS, a_delivery, an_event

__all__ = [
    "DIED_AT_MS",
    "a_row",
    "incoming",
    "letter_record",
    "rows_of",
    "store_rows",
    "unwanted_record",
]

DIED_AT_MS = NOW_MS + 5_000
_PLACE = Place(3, 17)


def letter_record(
    delivery: Delivery | None = None,
    *,
    code: str = ErrorCode.ENDPOINT_REJECTED,
    error: str = "answered 404",
    partition: int | None = None,
) -> OutgoingRecord:
    """The record that buries a delivery: after three attempts, if none is given."""
    buried = delivery or a_delivery(event=an_event(id=uuid4()), attempt=3, first_failed_at_ms=NOW_MS)
    attempt = Attempt(
        attempt_id=uuid4(),
        delivery=buried,
        outcome=Rejected(code=code, error=error),
        next_hop=DeadLetter(delivery=buried, code=code, error=error),
        started_at_ms=NOW_MS,
        duration_ms=1.0,
    )
    (record,) = [one for one in records_after(attempt) if one.topic == topics.DEAD_LETTER]
    return OutgoingRecord(
        topic=record.topic, partition=partition, key=record.key, value=record.value, headers=record.headers
    )


def unwanted_record(**changes: Any) -> OutgoingRecord:
    """The record that buries an event which no target wanted."""
    event = an_event(**{"id": uuid4(), **changes})
    return dead_record(
        headers=header_map(encode_event(event)),
        key=event.aggregate_id.encode(),
        value=event.payload,
        origin=Origin(topics.EVENTS, 3, 1_000),
        code=ErrorCode.HANDLER_NOT_REGISTERED,
        error=f"no handler is registered for {event.type}, and no endpoint is subscribed to it",
    )


def incoming(record: OutgoingRecord, *, place: Place = _PLACE, appended_at_ms: int = DIED_AT_MS) -> Incoming:
    """As the recorder gets it from Kafka."""
    return Incoming(place, appended_at_ms, record.key, list(record.headers), record.value)


def a_row(number: int = 0, **changes: Any) -> DeadLetterRow:
    """The row of the letter at offset `number` of partition 3, which died so many milliseconds after the first."""
    died_at_ms = changes.pop("died_at_ms", DIED_AT_MS + number)
    partition = changes.pop("place_partition", 3)
    row = DeadLetterRow(
        died_at=datetime.fromtimestamp(died_at_ms / 1000, UTC),
        id=str(dead_letter_id(died_at_ms=died_at_ms, partition=partition, offset=number)),
        place_partition=partition,
        place_offset=number,
        letter_class="undelivered",
        code=ErrorCode.ENDPOINT_REJECTED,
        error="answered 404",
        event_id=str(UUID(int=number + 1)),
        event_type="order.created",
        target="endpoint:ep_1",
        attempts=3,
        origin="outbox.events/3/1000",
        created_at=datetime(2026, 3, 1, 12, 30, 0, 123_000, tzinfo=UTC),
        first_failed_at=datetime(2026, 3, 1, 12, 30, 1, tzinfo=UTC),
        died_in_replay_id=None,
    )
    return row._replace(**changes)


def store_rows(url: str, *rows: DeadLetterRow) -> None:
    """Write rows as the recorder does."""
    writer = DeadLetterWriter(url)
    writer.write(rows)
    writer.close()


def rows_of(url: str) -> list[dict[str, Any]]:
    """Every row, by time and place."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("set timezone to 'UTC'")
        return connection.execute("select * from outbox.dead_letters order by died_at, id").fetchall()
