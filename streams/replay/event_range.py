"""A reading of events between two places, in order, and what is made of a record: what recoveries and ranges share.

Place in the data's way: between the records of `outbox.events`, or rows that were made into such records, and the
sources that choose among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from connectors.kafka.read_record import ReadRecord
from outbox.event import Event
from streams.errors import RecordMalformed
from streams.records.wire import decode_event, header_map

__all__ = ["CLOCKS_DIFFER", "EventRange", "event_of", "is_cut", "surely_before"]

CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""How far Connect's clock may be behind Postgres' one: Kafka finds records by the time at which Connect wrote them."""


class EventRange(Protocol):
    """A reading of a range, as `connectors.kafka.range_reader` does it."""

    @property
    def next_offsets(self) -> Mapping[int, int]:
        """Per partition the offset behind what was given out; or another way to write down where it goes on."""
        ...

    @property
    def done(self) -> bool:
        """Whether all of it was given out."""
        ...

    def read(self, most: int) -> Sequence[ReadRecord]:
        """The next records."""
        ...

    def close(self) -> None:
        """Leave the broker."""
        ...


def event_of(record: ReadRecord) -> Event | None:
    """The event of a record; None where it can't be read: such a record is a dead letter, and nobody's event."""
    try:
        return decode_event(header_map(record.headers), key=record.key, value=record.value)
    except RecordMalformed:
        return None


def is_cut(begins: Mapping[int, int], first_kept: Mapping[int, int]) -> bool:
    """Whether a range begins where a log was cut off: what stood before that may belong to it.

    >>> is_cut({0: 5, 1: 0}, {0: 5, 1: 0}), is_cut({0: 6}, {0: 5})
    (True, False)
    """
    return any(begin <= first_kept.get(number, 0) and begin > 0 for number, begin in begins.items())


def surely_before(moment: datetime) -> datetime:
    """From when on Kafka's records may be of events from then on, by whatever clock; at most the first moment there is.

    >>> surely_before(datetime.min.replace(tzinfo=UTC)) == datetime.min.replace(tzinfo=UTC)
    True
    """
    first = datetime.min.replace(tzinfo=UTC)
    return first if moment - first < CLOCKS_DIFFER else moment - CLOCKS_DIFFER
