"""What a plan means in events: how many, of which types, for whom.

Place in the data's way: beside it; reads the range as a stream, and keeps counts only. What always holds: what was not
looked at is said. Of a range that is longer than it may look at, it reads pieces that lie evenly over it. Pure, but for
the reading that is handed in.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from connectors.kafka.read_record import ReadRecord
from outbox.event import Event
from streams.commit.metadata import Run
from streams.errors import RecordMalformed
from streams.records.wire import decode_event, header_map
from streams.reset.plan import PartitionPlan, offsets_in

__all__ = ["NOBODY", "OTHERS", "UNREADABLE", "Counts", "Look", "RangeReading", "look_at", "pieces"]

NOBODY: Final = "(nobody)"
"""Stands among the targets for events that nobody wants."""

UNREADABLE: Final = "(unreadable)"
"""Stands among the types for records that are no events."""

OTHERS: Final = "(others)"
"""Stands for what is counted together, beyond so many kinds that nobody would read them."""

_PIECES: Final = 10
_READ: Final = 2_000
_KINDS: Final = 10_000


class RangeReading(Protocol):
    """A reading of a range, as `connectors.kafka.range_reader` does it."""

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


@dataclass(slots=True, kw_only=True)
class Counts:
    """Events of one kind, those to be read again or those to be skipped."""

    events: int = 0
    by_partition: Counter[int] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)

    def add(self, partition: int, event_type: str, targets: Sequence[str]) -> None:
        """Count one event."""
        self.events += 1
        self.by_partition[partition] += 1
        _count(self.types, event_type)
        for target in targets:
            _count(self.targets, target)


@dataclass(slots=True, kw_only=True)
class Look:
    """What was seen.

    Attributes:
        again: what is read again.
        skipped: what is never read.
        whole: whether all of it was looked at; else the counts are those of a sample.
    """

    again: Counts = field(default_factory=Counts)
    skipped: Counts = field(default_factory=Counts)
    whole: bool = True


def look_at(
    plans: Sequence[PartitionPlan],
    *,
    most: int,
    wanted_by: Callable[[Event], Sequence[str]],
    read_range: Callable[[Mapping[int, int], Mapping[int, int]], RangeReading],
) -> Look:
    """Count what the plans are about.

    Args:
        plans: of the partitions.
        most: at most so many records are read.
        wanted_by: the targets of an event.
        read_range: begins reading from the first to the second offsets, by partition.
    """
    spans = {plan.number: span for plan in plans if (span := _span(plan)) is not None}
    by_number = {plan.number: plan for plan in plans}
    look = Look(whole=offsets_in(spans.values()) <= most)
    for piece in pieces(spans, most):
        begins = {number: first for number, (first, _) in piece.items()}
        reading = read_range(begins, {number: end for number, (_, end) in piece.items()})
        try:
            while not reading.done:
                for record in reading.read(_READ):
                    _counted(look, by_number[record.partition], record, wanted_by)
        finally:
            reading.close()
    return look


def pieces(spans: Mapping[int, Run], most: int) -> Iterator[Mapping[int, Run]]:
    """What to read of these spans: all, or about `most` offsets in pieces that lie evenly over each.

    >>> list(pieces({0: (0, 4)}, 10))
    [{0: (0, 4)}]
    >>> sum(end - first for piece in pieces({0: (0, 1_000)}, 100) for first, end in piece.values())
    100
    """
    total = offsets_in(spans.values())
    if total <= most:
        if spans:
            yield spans
        return
    lengths = {number: most * (end - first) // total // _PIECES for number, (first, end) in spans.items()}
    for index in range(_PIECES):
        piece = {}
        for number, (first, end) in spans.items():
            begin = first + (end - first - lengths[number]) * index // (_PIECES - 1)
            if lengths[number]:
                piece[number] = begin, begin + lengths[number]
        if piece:
            yield piece


def _span(plan: PartitionPlan) -> Run | None:
    runs = (*plan.again, *plan.skipped)
    if not runs:
        return None
    return min(first for first, _ in runs), max(end for _, end in runs)


def _counted(
    look: Look, plan: PartitionPlan, record: ReadRecord, wanted_by: Callable[[Event], Sequence[str]]
) -> None:
    if _has(plan.again, record.offset):
        counts = look.again
    elif _has(plan.skipped, record.offset):
        counts = look.skipped
    else:
        return
    try:
        event = decode_event(header_map(record.headers), key=record.key, value=record.value)
    except RecordMalformed:
        counts.add(record.partition, UNREADABLE, (NOBODY,))
    else:
        counts.add(record.partition, event.type, wanted_by(event) or (NOBODY,))


def _has(runs: Sequence[Run], offset: int) -> bool:
    index = bisect_right(runs, offset, key=lambda run: run[0]) - 1
    return index >= 0 and offset < runs[index][1]


def _count(counter: Counter[str], kind: str) -> None:
    counter[kind if kind in counter or len(counter) < _KINDS else OTHERS] += 1
