"""A batch: what was read and is not yet written, bounded in number and bytes. Pure.

Its offsets are those to commit once it is written. A record that could not be read has its offset here and no entry:
it is passed over, and told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from streams.recorder.entry import Entry

__all__ = ["BATCH_BYTES", "BATCH_RECORDS", "Batch", "Place", "Read"]

BATCH_RECORDS: Final = 5_000
BATCH_BYTES: Final = 16 * 1024 * 1024


class Place(NamedTuple):
    """Where a record stands in the topic of attempts."""

    partition: int
    offset: int

    def __str__(self) -> str:
        """As it is written in the log: `partition/offset`."""
        return f"{self.partition}/{self.offset}"


class Read(NamedTuple):
    """A record that was read, and where."""

    place: Place
    entry: Entry


class Batch:
    """Fills up, is written, and gives way to the next."""

    def __init__(self) -> None:
        self._reads: list[Read] = []
        self._next_offsets: dict[int, int] = {}
        self._bytes = 0
        self._records = 0

    def __bool__(self) -> bool:
        """Whether anything was read."""
        return bool(self._next_offsets)

    @property
    def reads(self) -> list[Read]:
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

    def add(self, place: Place, entry: Entry | None, *, size_bytes: int) -> None:
        """Put in a record; None for one that can't be read."""
        self._next_offsets[place.partition] = place.offset + 1
        self._records += 1
        if entry is not None:
            self._reads.append(Read(place, entry))
            self._bytes += size_bytes
