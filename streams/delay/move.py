"""Where a due record goes: back to its worker, on another lap, or, unreadable, to the dead letters. Pure."""

from collections.abc import Callable

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.delay.lane import Waiting
from streams.dispatch.hops import dead_record
from streams.errors import RecordMalformed
from streams.records.delivery import Origin
from streams.records.outcome import ErrorCode
from streams.records.wire import read_int, read_origin
from streams.retry.tiers import RetryTiers
from streams.retry.wait import wait_until

__all__ = ["due_at_ms", "move"]


def due_at_ms(headers: dict[str, bytes]) -> int:
    """When a parked record is due.

    One that doesn't say is due at once, and `move` buries it if nothing else is right.
    """
    try:
        return read_int(headers, "outbox-due-at") or 0
    except RecordMalformed:
        return 0


def move(
    waiting: Waiting, *, parked_at: Origin, now_ms: int, tiers: RetryTiers, random: Callable[[], float]
) -> OutgoingRecord:
    """The record that replaces a due one.

    A retry goes to the partition of its origin, so that the worker that owns a key's first attempts owns
    its retries too.
    """
    try:
        return _move(waiting, now_ms=now_ms, tiers=tiers, random=random)
    except RecordMalformed as error:
        return dead_record(
            headers=waiting.headers,
            key=waiting.key,
            value=waiting.value,
            origin=parked_at,
            code=ErrorCode.EVENT_MALFORMED,
            error=str(error),
        )


def _move(waiting: Waiting, *, now_ms: int, tiers: RetryTiers, random: Callable[[], float]) -> OutgoingRecord:
    headers = dict(waiting.headers)
    if read_int(headers, "outbox-due-at") is None:
        raise RecordMalformed("header outbox-due-at is missing")
    not_before_ms = read_int(headers, "outbox-not-before")
    if not_before_ms is not None and not_before_ms > now_ms:
        wait = wait_until(not_before_ms, now_ms=now_ms, tiers=tiers, random=random)
        headers["outbox-due-at"] = b"%d" % wait.due_at_ms
        if wait.not_before_ms is None:
            del headers["outbox-not-before"]
        return _record(waiting, headers, topic=wait.lane.topic, partition=wait.lane.partition)
    headers.pop("outbox-not-before", None)
    return _record(waiting, headers, topic=topics.REDELIVERY, partition=read_origin(headers).partition)


def _record(waiting: Waiting, headers: dict[str, bytes], *, topic: str, partition: int) -> OutgoingRecord:
    return OutgoingRecord(
        topic=topic, partition=partition, key=waiting.key, value=waiting.value, headers=list(headers.items())
    )
