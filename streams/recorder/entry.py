"""An entry: one attempt record, read back and checked, as the delivery log takes it. Pure.

Place in the data's way: from the bytes on `outbox.attempts` to rows. Everything from Kafka is untrusted here: what
can't be read, what a newer version may mean otherwise, and what Postgres or its indexes could not store, raises
`RecordMalformed` and nothing else. The message names the field and never quotes it (INV-9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson

from connectors.epoch import from_epoch_ms
from connectors.postgres.delivery_id import delivery_id
from connectors.postgres.log_rows import AttemptRow, DeliveryRow, DeliveryStatus
from streams.errors import RecordMalformed
from streams.records.wire import ERROR_MAX_BYTES, cut

__all__ = ["Entry", "read_entry"]

#: What each outcome and each end of it makes of the delivery. `next` of a parked one is its retry topic.
_ENDS: Final[Mapping[str, DeliveryStatus]] = {
    "succeeded": "succeeded",
    "cancelled": "cancelled",
    "rejected": "failed",
    "failed": "failed",
    "interrupted": "failed",
    "deferred": "failed",
}
_OUTCOMES: Final = frozenset(_ENDS)
#: Turns in which the target was called, or might have been.
_ATTEMPTED: Final = frozenset({"succeeded", "failed", "rejected", "interrupted"})
_STANDING: Final[Mapping[DeliveryStatus, int]] = {
    "succeeded": 2,
    "failed": 1,
    "cancelled": 1,
    "retrying": 0,
    "pending": 0,
}
_PARKED: Final = "outbox.retry-"

#: Bounds of what is stored and indexed; the outbox table and `streams.records.wire` keep within them.
_NAME_BYTES: Final = 600
_COUNT_MAX: Final = 10**9 + 1
_STATUS_MAX: Final = 999
#: The year 9000 in epoch milliseconds: before it the outbox table takes events.
_TIME_MAX_MS: Final = 221_845_392_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One attempt record as its two rows: the attempt, and what it says of its delivery."""

    attempt: AttemptRow
    delivery: DeliveryRow

    @property
    def dated_at(self) -> datetime:
        """When the event was committed: a delivery and its attempts are in that day."""
        return self.attempt.created_at


def read_entry(value: bytes | None) -> Entry:
    """Read the value of an attempt record; RecordMalformed says which field can't be read."""
    try:
        fields = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        raise RecordMalformed("the attempt record is not JSON") from None
    if not isinstance(fields, dict):
        raise RecordMalformed("the attempt record is no JSON object")
    return _entry(fields)


def _entry(fields: dict[str, Any]) -> Entry:
    created_at_ms = _whole(fields, "event_created_at_ms", most=_TIME_MAX_MS)
    created_at = from_epoch_ms(created_at_ms)
    event_id, attempt_id = _uuid(fields, "event_id"), str(_uuid(fields, "attempt_id"))
    target = _name(fields, "target")
    outcome, following = _name(fields, "outcome"), _name(fields, "next")
    status = _status(outcome, following, number := _whole(fields, "attempt", least=1, most=_COUNT_MAX))
    attempt = AttemptRow(
        created_at=created_at,
        delivery_id=str(delivery_id(event_id=event_id, target=target, created_at_ms=created_at_ms)),
        id=attempt_id,
        attempt=number,
        deferrals=_whole(fields, "deferrals", most=_COUNT_MAX),
        replay_id="" if fields.get("replay_id") in (None, "") else _name(fields, "replay_id"),
        started_at=from_epoch_ms(_whole(fields, "started_at_ms", most=_TIME_MAX_MS)),
        duration_ms=_duration(fields),
        outcome=outcome,
        http_status=_optional_whole(fields, "status", most=_STATUS_MAX),
        error_code=_text(fields, "code"),
        error=_text(fields, "error"),
        excerpt=_text(fields, "excerpt"),
        next=following,
        next_attempt_at=_optional_time(fields, "next_attempt_at_ms"),
    )
    delivery = DeliveryRow(
        created_at=created_at,
        id=attempt.delivery_id,
        event_id=str(event_id),
        event_type=_name(fields, "event_type"),
        target=target,
        origin=_name(fields, "origin"),
        status=status,
        attempts=number if outcome in _ATTEMPTED else number - 1,
        error_code=attempt.error_code,
        error=attempt.error,
        http_status=attempt.http_status,
        next_attempt_at=attempt.next_attempt_at,
        replay_id=attempt.replay_id,
        standing=_STANDING[status],
        attempt=number,
        deferrals=attempt.deferrals,
        last_attempt_at=attempt.started_at,
        last_attempt_id=attempt_id,
    )
    return Entry(attempt, delivery)


def _status(outcome: str, following: str, number: int) -> DeliveryStatus:
    """Where the delivery stands after a turn: it ended, or it waits, for its first attempt or for another one."""
    if outcome not in _OUTCOMES:
        raise RecordMalformed("the attempt record's outcome is none that this version knows")
    if following in {"done", "dead-letter"}:
        return _ENDS[outcome]
    if not following.startswith(_PARKED):
        raise RecordMalformed("the attempt record's next is none that this version knows")
    return "pending" if outcome == "deferred" and number == 1 else "retrying"


def _whole(fields: Mapping[str, Any], name: str, *, least: int = 0, most: int) -> int:
    value = fields.get(name)
    if type(value) is not int or not least <= value <= most:
        raise RecordMalformed(f"the attempt record's {name} is no whole number from {least} to {most}")
    return value


def _optional_whole(fields: Mapping[str, Any], name: str, *, most: int) -> int | None:
    return None if fields.get(name) is None else _whole(fields, name, most=most)


def _optional_time(fields: Mapping[str, Any], name: str) -> datetime | None:
    return None if fields.get(name) is None else from_epoch_ms(_whole(fields, name, most=_TIME_MAX_MS))


def _duration(fields: Mapping[str, Any]) -> float:
    value = fields.get("duration_ms")
    if not isinstance(value, int | float) or not 0 <= value <= _TIME_MAX_MS:
        raise RecordMalformed("the attempt record's duration_ms is no duration")
    return float(value)


def _uuid(fields: Mapping[str, Any], name: str) -> UUID:
    value = fields.get(name)
    try:
        return UUID(value) if isinstance(value, str) else _no_uuid(name)
    except ValueError:
        return _no_uuid(name)


def _no_uuid(name: str) -> UUID:
    raise RecordMalformed(f"the attempt record's {name} is no UUID") from None


def _name(fields: Mapping[str, Any], name: str) -> str:
    """A text that is stored as it is, or not at all: it says what the record belongs to."""
    value = fields.get(name)
    if not isinstance(value, str) or not value or "\0" in value or len(value.encode()) > _NAME_BYTES:
        raise RecordMalformed(
            f"the attempt record's {name} is no text of 1 to {_NAME_BYTES} bytes without NUL"
        )
    return value


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    """Somebody's words. Postgres' text holds no NUL (nor a lone surrogate, which is no JSON): a mark stands for it."""
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RecordMalformed(f"the attempt record's {name} is no text")
    return cut(value.replace("\0", "\ufffd"), max_bytes=ERROR_MAX_BYTES)
