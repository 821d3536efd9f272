"""A source: a topic that the recorder reads, and how one of its records becomes an entry. Pure.

Place in the data's way: what makes the recorder's loop that of `outbox.attempts`, or that of `outbox.dead-letter`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from streams.recorder.batch import Dated, Place
from streams.recorder.entry import Entry, read_entry
from streams.topics import ATTEMPTS, RECORDER_GROUP

__all__ = ["ATTEMPTS_SOURCE", "Incoming", "Source"]

E_co = TypeVar("E_co", bound=Dated, covariant=True)


class Incoming(NamedTuple):
    """A record as Kafka has it. `appended_at_ms` is the broker's time, as the topics are set up."""

    place: Place
    appended_at_ms: int
    key: bytes | None
    headers: list[tuple[str, bytes | None]]
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Generic[E_co]):
    """What is read, and as whom.

    Attributes:
        topic: what is read.
        group: the consumer group, which is the client's name too.
        read: makes the entry of a record; RecordMalformed passes the record over.
        deleted_unread: the log's event for records that Kafka deleted before they were read.
        consequence: what that means, for people.
    """

    topic: str
    group: str
    read: Callable[[Incoming], E_co]
    deleted_unread: str
    consequence: str


def _read_attempt(record: Incoming) -> Entry:
    return read_entry(record.value)


ATTEMPTS_SOURCE: Final = Source(
    topic=ATTEMPTS,
    group=RECORDER_GROUP,
    read=_read_attempt,
    deleted_unread="attempts_deleted_unread",
    consequence="the delivery log lacks them; deliveries don't. Keep the recorder running, or raise "
    "OUTBOX_RETENTION_HOURS",
)
