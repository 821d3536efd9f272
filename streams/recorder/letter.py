"""A dead letter, as the recorder reads it from its headers. Pure.

Place in the data's way: from a record on `outbox.dead-letter` to its row. Invariants: whatever stands there is a row,
for a dead letter that nobody sees is one that is lost; what can't be read is left out of it, and makes it poison. The
row holds nothing that Postgres or its indexes could not, and never the payload, which isn't looked at (INV-9).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from connectors.epoch import from_epoch_ms, to_the_ms
from connectors.postgres.dead_letter import DeadLetterRow, LetterClass
from connectors.postgres.dead_letter_id import dead_letter_id
from streams.errors import RecordMalformed
from streams.recorder.source import Incoming, Source
from streams.records.outcome import ErrorCode
from streams.records.target import parse_target
from streams.records.wire import (
    ERROR_MAX_BYTES,
    cut,
    decode_delivery,
    decode_event,
    header_map,
    read_int,
    read_origin,
)
from streams.topics import DEAD_LETTER, LETTERS_GROUP

__all__ = ["LETTERS_SOURCE", "read_letter"]

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
#: As in the delivery log: what is indexed is bounded, and what is counted fits into its column.
_NAME_BYTES: Final = 600
_COUNT_MAX: Final = 10**9 + 1
_TIME_MAX_MS: Final = 221_845_392_000_000
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_letter(record: Incoming) -> DeadLetterRow:
    """What a record on `outbox.dead-letter` says of itself. Never raises for what stands in it."""
    headers = header_map(record.headers)
    code, letter_class, problem = _judged(headers, record.key)
    died_at_ms = min(max(record.appended_at_ms, 0), _TIME_MAX_MS)
    place = record.place
    return DeadLetterRow(
        died_at=from_epoch_ms(died_at_ms),
        id=str(dead_letter_id(died_at_ms=died_at_ms, partition=place.partition, offset=place.offset)),
        place_partition=place.partition,
        place_offset=place.offset,
        letter_class=letter_class,
        code=code,
        error=_words(headers.get("outbox-error")) or problem,
        event_id=_event_id(headers),
        event_type=_name(headers, "type"),
        target=_target(headers),
        attempts=_attempts(headers),
        origin=_origin(headers),
        created_at=_created_at(headers),
        first_failed_at=_first_failed_at(headers),
        died_in_replay_id=_name(headers, "outbox-replay-id"),
    )


def _judged(headers: dict[str, bytes], key: bytes | None) -> tuple[str, LetterClass, str | None]:
    """Its code, its class, and what can't be read. A whole record has no target; all else of it is an event's."""
    said = headers.get("outbox-error-code", b"").decode(errors="replace")
    code = said if _CODE.fullmatch(said) else ErrorCode.EVENT_MALFORMED
    try:
        if "outbox-target" in headers:
            decode_delivery(headers, key=key, value=None)
        else:
            decode_event(headers, key=key, value=None)
            read_origin(headers)
    except RecordMalformed as error:
        return code, "poison", cut(_storable(str(error)), max_bytes=ERROR_MAX_BYTES)
    return code, "poison" if code == ErrorCode.EVENT_MALFORMED else "undelivered", None


def _event_id(headers: Mapping[str, bytes]) -> str | None:
    try:
        return str(UUID(headers["id"].decode()))
    except (KeyError, ValueError):
        return None


def _name(headers: Mapping[str, bytes], name: str) -> str | None:
    """A text by which letters are found: as it is, or not at all."""
    raw = headers.get(name, b"")
    if not raw or b"\0" in raw or len(raw) > _NAME_BYTES:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _target(headers: Mapping[str, bytes]) -> str | None:
    text = _name(headers, "outbox-target")
    try:
        return None if text is None else str(parse_target(text))
    except ValueError:
        return None


def _attempts(headers: dict[str, bytes]) -> int:
    """None were made of a whole record, and none that we know of where that can't be read."""
    return min(_whole(headers, "outbox-attempt") or 0, _COUNT_MAX)


def _origin(headers: dict[str, bytes]) -> str | None:
    try:
        read_origin(headers)
    except RecordMalformed:
        return None
    return _name(headers, "outbox-origin")


def _created_at(headers: Mapping[str, bytes]) -> datetime | None:
    """To the millisecond, as the delivery log has it, and within its bounds."""
    try:
        moment = datetime.fromisoformat(headers.get("created-at", b"").decode()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    moment = to_the_ms(moment)
    return moment if _FIRST <= moment <= from_epoch_ms(_TIME_MAX_MS) else None


def _first_failed_at(headers: dict[str, bytes]) -> datetime | None:
    epoch_ms = _whole(headers, "outbox-first-failed-at")
    return None if epoch_ms is None or epoch_ms > _TIME_MAX_MS else from_epoch_ms(epoch_ms)


def _whole(headers: dict[str, bytes], name: str) -> int | None:
    try:
        return read_int(headers, name)
    except RecordMalformed:
        return None


def _words(raw: bytes | None) -> str | None:
    """Somebody's words, cut."""
    return cut(_storable(raw.decode(errors="replace")), max_bytes=ERROR_MAX_BYTES) if raw else None


def _storable(text: str) -> str:
    """Postgres' text holds no NUL: a mark stands for it."""
    return text.replace("\0", "\ufffd")


LETTERS_SOURCE: Final = Source(
    topic=DEAD_LETTER,
    group=LETTERS_GROUP,
    read=read_letter,
    deleted_unread="dead_letters_deleted_unread",
    consequence="they can't be listed or redriven any more. Keep the recorder running, or raise "
    "OUTBOX_DEAD_LETTER_RETENTION_HOURS",
)
