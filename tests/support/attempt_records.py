"""Attempt records as a worker writes them: plain ones, changed by keyword, and whole lives of deliveries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any, Final
from uuid import UUID

import orjson

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.recorder.entry import Entry, read_entry

__all__ = ["CREATED_AT_MS", "a_life", "an_entry", "fields_of", "many_lives", "record_of", "value_of"]

CREATED_AT_MS: Final = 1_772_368_200_123
_PLAIN: Final[Mapping[str, Any]] = {
    "attempt_id": "6fbd21ce-0732-440c-a44b-cea540a298f8",
    "event_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "event_type": "order.created",
    "event_created_at_ms": CREATED_AT_MS,
    "target": "endpoint:ep_1",
    "attempt": 1,
    "deferrals": 0,
    "origin": "outbox.events/3/1000",
    "replay_id": None,
    "started_at_ms": CREATED_AT_MS + 20,
    "duration_ms": 12.5,
}
#: What a turn of each kind adds.
_ENDINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "succeeded": {"outcome": "succeeded", "status": 204, "next": "done"},
    "retried": {
        "outcome": "failed",
        "status": 503,
        "error": "answered 503 Service Unavailable",
        "excerpt": "maintenance",
        "next": "outbox.retry-4s",
        "next_attempt_at_ms": CREATED_AT_MS + 5_000,
    },
    "interrupted": {"outcome": "interrupted", "error": "cut off", "next": "outbox.retry-1s"},
    "deferred": {"outcome": "deferred", "error": "it is busy", "next": "outbox.retry-1s"},
    "exhausted": {
        "outcome": "failed",
        "status": 500,
        "code": "ENDPOINT_EXHAUSTED",
        "error": "answered 500",
        "next": "dead-letter",
    },
    "rejected": {
        "outcome": "rejected",
        "status": 410,
        "code": "ENDPOINT_GONE",
        "error": "answered 410 Gone",
        "next": "dead-letter",
    },
    "cancelled": {"outcome": "cancelled", "error": "the endpoint was deleted", "next": "done"},
}


def fields_of(ending: str = "succeeded", **changes: Any) -> dict[str, Any]:
    """The fields of a record: one that ended so, with these changes."""
    return {**_PLAIN, **_ENDINGS[ending], **changes}


def value_of(ending: str = "succeeded", **changes: Any) -> bytes:
    return orjson.dumps(fields_of(ending, **changes))


def an_entry(ending: str = "succeeded", **changes: Any) -> Entry:
    return read_entry(value_of(ending, **changes))


def record_of(value: bytes, *, key: bytes = b"", partition: int | None = None) -> OutgoingRecord:
    return OutgoingRecord(
        topic=topics.ATTEMPTS, key=key or None, value=value, headers=[], partition=partition
    )


def a_life(random: Random, *, created_at_ms: int, target: str = "endpoint:ep_1") -> Iterator[bytes]:
    """All records of one delivery, in order: most succeed at once, some after retries, some never."""
    common = {
        "event_id": str(UUID(int=random.getrandbits(128), version=4)),
        "event_created_at_ms": created_at_ms,
        "target": target,
    }
    endings = random.choices(
        [
            ("succeeded",),
            ("retried", "succeeded"),
            ("deferred", "retried", "interrupted", "exhausted"),
            ("retried", "cancelled"),
            ("deferred",),
            ("rejected",),
        ],
        weights=[70, 12, 5, 4, 4, 5],
    )[0]
    attempt, deferrals = 1, 0
    for number, ending in enumerate(endings):
        yield value_of(
            ending,
            **common,
            attempt_id=str(UUID(int=random.getrandbits(128), version=4)),
            attempt=attempt,
            deferrals=deferrals,
            started_at_ms=created_at_ms + 20 + 1_000 * number,
        )
        attempt, deferrals = (attempt, deferrals + 1) if ending == "deferred" else (attempt + 1, deferrals)


def many_lives(count: int, *, seed: int, target: str, days_ago: int = 0) -> list[OutgoingRecord]:
    """The records of so many deliveries to one target, keyed by event; each delivery's are in order."""
    random = Random(seed)
    now_ms = int(datetime.now(UTC).timestamp() * 1000) - days_ago * 86_400_000
    return [
        record_of(value, key=orjson.loads(value)["event_id"].encode())
        for number in range(count)
        for value in a_life(random, created_at_ms=now_ms - number, target=target)
    ]
