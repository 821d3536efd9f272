"""A batch: what was read and is not yet written, bounded in number and bytes. Pure.

Its offsets are those to commit once it is written. A record that could not be read has its offset here and no entry:
it is passed over, and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

__all__ = ["BATCH_BYTES", "BATCH_RECORDS", "Batch", "Dated", "Place", "Read"]

#: A transaction is decoded in one go by the walsender that serves Debezium, and events behind it wait for that. Batches
#: of 5,000 cost a seventh less, and made commit → Kafka three times as long at p99 while the recorder caught up.
BATCH_RECORDS: Final = 1_000
BATCH_BYTES: Final = 8 * 1024 * 1024


class Dated(Protocol):
    """What a batch holds: an entry that says in which day's partition its row is."""

    @property
    def dated_at(self) -> datetime:
        """The moment whose UTC day it is kept in."""
        ...


E = TypeVar("E", bound=Dated)


class Place(NamedTuple):
    """Where a record stands in its topic."""

    partition: int
    offset: int

    def __str__(self) -> str:
        """As it is written in the log: `partition/offset`."""
        return f"{self.partition}/{self.offset}"


class Read(NamedTuple, Generic[E]):
    """A record that was read, and where."""

    place: Place
    entry: E


class Batch(Generic[E]):
    """Fills up, is written, and gives way to the next."""

    def __init__(self) -> None:
        self._reads: list[Read[E]] = []
        self._next_offsets: dict[int, int] = {}
        self._bytes = 0
        self._records = 0

    def __bool__(self) -> bool:
        """Whether anything was read."""
        return bool(self._next_offsets)

    @property
    def reads(self) -> list[Read[E]]:
        """What is to be written."""
        return self._reads

    @property
    def next_offsets(self) -> Mapping[int, int]:
        """By partition, the offset to commit when it is written."""
        return self._next_offsets

    @property
    def is_full(self) -> bool:
        """Whether it should be written before anything more is read."""
        return self._records >= BATCH_RECORDS or self._bytes >= BATCH_BYTES

    def add(self, place: Place, entry: E | None, *, size_bytes: int) -> None:
        """Put in a record; None for one that can't be read."""
        self._next_offsets[place.partition] = place.offset + 1
        self._records += 1
        if entry is not None:
            self._reads.append(Read(place, entry))
            self._bytes += size_bytes
