"""The Kafka records that follow a turn: its attempt record, and a retry, a dead letter, or nothing. Pure."""

from collections.abc import Mapping

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.records.attempt import Attempt
from streams.records.delivery import Origin
from streams.records.next_hop import DeadLetter, Done, Retry
from streams.records.wire import Headers, cut, encode_delivery

__all__ = ["dead_record", "records_after"]


def records_after(attempt: Attempt) -> list[OutgoingRecord]:
    """What Kafka must acknowledge before the delivery is settled."""
    event = attempt.delivery.event
    records = [
        OutgoingRecord(topic=topics.ATTEMPTS, key=str(event.id).encode(), value=attempt.to_json(), headers=[])
    ]
    match attempt.next_hop:
        case Done():
            pass
        case Retry(delivery=delivery, topic=topic, partition=partition) as retry:
            headers = encode_delivery(delivery)
            headers.append(("outbox-due-at", b"%d" % retry.due_at_ms))
            if retry.not_before_ms is not None:
                headers.append(("outbox-not-before", b"%d" % retry.not_before_ms))
            headers.append(("outbox-error", cut(retry.error).encode()))
            records.append(
                OutgoingRecord(
                    topic=topic,
                    partition=partition,
                    key=event.aggregate_id.encode(),
                    value=event.payload,
                    headers=headers,
                )
            )
        case DeadLetter(delivery=delivery, code=code, error=error):
            headers = _buried(encode_delivery(delivery), code=code, error=error)
            records.append(
                OutgoingRecord(
                    topic=topics.DEAD_LETTER,
                    key=event.aggregate_id.encode(),
                    value=event.payload,
                    headers=headers,
                )
            )
    return records


def dead_record(
    *,
    headers: Mapping[str, bytes],
    key: bytes | None,
    value: bytes | None,
    origin: Origin,
    code: str,
    error: str,
) -> OutgoingRecord:
    """A dead letter of a whole record: one that can't be read, or that no target wants. Its headers and bytes are kept.

    It has no `outbox-target`, unless it came with one.
    """
    kept = {name: raw for name, raw in headers.items() if name not in {"outbox-error", "outbox-error-code"}}
    kept.setdefault("outbox-origin", str(origin).encode())
    return OutgoingRecord(
        topic=topics.DEAD_LETTER,
        key=key,
        value=value,
        headers=_buried(list(kept.items()), code=code, error=error),
    )


def _buried(headers: Headers, *, code: str, error: str) -> Headers:
    return [*headers, ("outbox-error-code", code.encode()), ("outbox-error", cut(error).encode())]
