"""Where the workers' group would stand after a reset, and what would be read again or never.

Place in the data's way: before it. What always holds: a plan speaks of all that differs for a worker. Of what it would
have read, what lies before the new offset is skipped; of what is settled, what lies behind it is read again, also what
was settled beyond the old commit, since a reset forgets that (docs/adr/0021). Pure; knows nothing of Kafka.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from streams.commit.metadata import Run
from streams.errors import ResetRefused

__all__ = [
    "Aim",
    "PartitionPlan",
    "ShiftBy",
    "Standing",
    "ToEarliest",
    "ToOffsets",
    "ToTime",
    "offsets_in",
    "plan_reset",
]


@dataclass(frozen=True, slots=True)
class ToTime:
    """To the first record that Kafka got then or later; to the end where there is none."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class ToOffsets:
    """To these offsets, by partition. Others are left alone."""

    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """To the first record that is kept."""


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """By so many offsets; backwards where it is negative."""

    by: int


Aim = ToTime | ToOffsets | ToEarliest | ShiftBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One partition as it is.

    Attributes:
        number: of the partition.
        begin: the first offset that is kept.
        end: the offset behind the last record.
        committed: by the group; None where it has committed nothing.
        settled: what is settled beyond the commit, ascending, as the commit's metadata says.
    """

    number: int
    begin: int
    end: int
    committed: int | None
    settled: tuple[Run, ...] = ()

    @property
    def position(self) -> int:
        """Where a worker would begin: at the commit, or where the log does if that is nowhere in it."""
        if self.committed is None or not self.begin <= self.committed <= self.end:
            return self.begin
        return self.committed

    @property
    def known(self) -> tuple[Run, ...]:
        """What a worker would pass over beyond its position. Of a log that was cut, the metadata says nothing."""
        if self.committed is None or self.committed > self.end:
            return ()
        return tuple(_clipped(self.settled, self.position, self.end))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """One partition's way. `again` and `skipped` are runs of offsets: there may be fewer records than offsets."""

    standing: Standing
    to: int
    again: tuple[Run, ...]
    skipped: tuple[Run, ...]
    note: str | None = None

    @property
    def number(self) -> int:
        """Of the partition."""
        return self.standing.number

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.standing.committed != self.to or bool(self.again)


def offsets_in(runs: Iterable[Run]) -> int:
    """How many offsets these runs have.

    >>> offsets_in([(3, 5), (9, 10)])
    3
    """
    return sum(end - first for first, end in runs)


def plan_reset(
    aim: Aim, standings: Sequence[Standing], *, at_time: Mapping[int, int]
) -> tuple[PartitionPlan, ...]:
    """Plan the reset of those partitions that the aim is about.

    Args:
        aim: where to.
        standings: the topic's partitions.
        at_time: for `ToTime`, per partition the first offset of that time or later, or the end.

    Raises:
        ResetRefused: a partition or an offset that is asked for is not there.
    """
    match aim:
        case ToTime():
            return tuple(_planned(each, at_time[each.number], _at_time(each, at_time)) for each in standings)
        case ToOffsets(offsets):
            return tuple(_planned(*_asked(number, to, standings)) for number, to in sorted(offsets.items()))
        case ToEarliest():
            return tuple(_planned(each, each.begin, _earlier_ones(each)) for each in standings)
        case ShiftBy(by):
            return tuple(_shifted(each, by) for each in standings)
        case _:
            assert_never(aim)


def _planned(standing: Standing, to: int, *notes: str | None) -> PartitionPlan:
    position, known = standing.position, standing.known
    again = [(to, position)] if to < position else []
    said = [note for note in (_of_the_commit(standing), *notes) if note]
    return PartitionPlan(
        standing=standing,
        to=to,
        again=(*again, *_clipped(known, max(to, position), standing.end)),
        skipped=tuple(_between(known, position, to)),
        note="; ".join(said) or None,
    )


def _asked(number: int, to: int, standings: Sequence[Standing]) -> tuple[Standing, int]:
    standing = next((each for each in standings if each.number == number), None)
    if standing is None:
        there = ", ".join(str(each.number) for each in standings)
        raise ResetRefused(f"--to-offset {number}:{to}: there is no partition {number}, only {there}")
    if not standing.begin <= to <= standing.end:
        raise ResetRefused(
            f"--to-offset {number}:{to}: partition {number} has the offsets {standing.begin} to {standing.end}"
            + (", and what came before is deleted" if to < standing.begin else ", the last being its end")
        )
    return standing, to


def _shifted(standing: Standing, by: int) -> PartitionPlan:
    wanted = standing.position + by
    to = min(max(wanted, standing.begin), standing.end)
    note = None
    if wanted < to:
        note = f"{to - wanted} offsets short: the log begins at {to}"
    elif wanted > to:
        note = f"{wanted - to} offsets short: the log ends at {to}"
    return _planned(standing, to, note)


def _at_time(standing: Standing, at_time: Mapping[int, int]) -> str | None:
    if at_time[standing.number] == standing.end:
        return "no record is of then or later: to the end"
    return _earlier_ones(standing) if at_time[standing.number] == standing.begin else None


def _earlier_ones(standing: Standing) -> str | None:
    return f"what was before {standing.begin} is deleted" if standing.begin > 0 else None


def _of_the_commit(standing: Standing) -> str | None:
    if standing.committed is None:
        return f"nothing is committed: workers would begin at {standing.begin}"
    if standing.committed != standing.position:
        return f"the commit {standing.committed} is not in the log: workers would begin at {standing.begin}"
    return None


def _clipped(runs: Iterable[Run], first: int, end: int) -> Iterator[Run]:
    for run_first, run_end in runs:
        if max(run_first, first) < min(run_end, end):
            yield max(run_first, first), min(run_end, end)


def _between(runs: Iterable[Run], first: int, end: int) -> Iterator[Run]:
    """What lies in [first, end) and in none of the runs."""
    at = first
    for run_first, run_end in _clipped(runs, first, end):
        if at < run_first:
            yield at, run_first
        at = run_end
    if at < end:
        yield at, end
