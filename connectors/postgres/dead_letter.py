"""A dead letter in Postgres: its row as the recorder writes it, as it is read, and how it is asked for. Pure.

Never its payload, which stays in Kafka (INV-9).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, get_args
from uuid import UUID

__all__ = [
    "LETTER_CLASSES",
    "LETTER_STATUSES",
    "DeadLetter",
    "DeadLetterPage",
    "DeadLetterQuery",
    "DeadLetterRow",
    "LetterClass",
    "LetterStatus",
]

LetterClass = Literal["poison", "undelivered"]
"""Can't be read, or be put into a request; or was readable, and a target's matter."""

LetterStatus = Literal["open", "redriven", "discarded"]
"""Waits for somebody, or was sent again, or was put aside. Only a redrive that was stopped leads back."""

LETTER_CLASSES: Final[tuple[LetterClass, ...]] = get_args(LetterClass)
LETTER_STATUSES: Final[tuple[LetterStatus, ...]] = get_args(LetterStatus)


class DeadLetterRow(NamedTuple):
    """What a record on `outbox.dead-letter` says: a row of `outbox.dead_letters`, in the order of its columns."""

    died_at: datetime
    id: str
    place_partition: int
    place_offset: int
    # `class`, which is no name for a field
    letter_class: LetterClass
    code: str
    error: str | None
    event_id: str | None
    event_type: str | None
    target: str | None
    attempts: int
    origin: str | None
    created_at: datetime | None
    first_failed_at: datetime | None
    died_in_replay_id: str | None

    @property
    def dated_at(self) -> datetime:
        """When it died: its row is in that day."""
        return self.died_at


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One dead letter.

    Attributes:
        id: made of the place and of `died_at`.
        place: where it stands on `outbox.dead-letter`: partition/offset.
        letter_class: poison, or undelivered.
        code: why it died; the glossary has the codes.
        error: the last error.
        event_id: None where the record doesn't say, as with all that may be None here.
        target: None for a whole record: one that can't be read, or that no target wanted.
        attempts: made before it died, of this replay.
        origin: where the event was first read on Kafka: topic/partition/offset.
        created_at: when the event was committed.
        first_failed_at: its first failure or deferral.
        died_at: when Kafka got it, to the millisecond.
        died_in_replay_id: which replay of the delivery died; None before any.
        changed_at: when it was redriven or discarded.
        changed_by: by whom.
        replay_id: the replay that redrove it.
    """

    id: UUID
    place: str
    letter_class: LetterClass
    code: str
    error: str | None
    event_id: UUID | None
    event_type: str | None
    target: str | None
    attempts: int
    origin: str | None
    created_at: datetime | None
    first_failed_at: datetime | None
    died_at: datetime
    died_in_replay_id: str | None
    status: LetterStatus
    changed_at: datetime | None
    changed_by: str | None
    replay_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterQuery:
    """Which dead letters: all that is given must hold. Times are those of their deaths; `until` is exclusive."""

    ids: tuple[UUID, ...] | None = None
    codes: frozenset[str] = frozenset()
    letter_class: LetterClass | None = None
    target: str | None = None
    event_type: str | None = None
    event_id: UUID | None = None
    statuses: frozenset[LetterStatus] = frozenset()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterPage:
    """Dead letters, newest first. `next_cursor` leads to those after them; None when there are none."""

    letters: tuple[DeadLetter, ...]
    next_cursor: str | None
