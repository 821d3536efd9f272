"""What is counted of a plan: by type and by target, of all of it or of an honest sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.read_record import ReadRecord
from outbox.event import Event
from streams.commit.metadata import Run
from streams.records.wire import encode_event
from streams.reset.look import NOBODY, UNREADABLE, look_at, pieces
from streams.reset.plan import PartitionPlan, Standing, offsets_in
from tests.support.deliveries import an_event

SPANS = st.dictionaries(
    st.integers(0, 20),
    st.tuples(st.integers(0, 1_000), st.integers(0, 5_000)).map(lambda pair: (pair[0], pair[0] + pair[1])),
)


class Range:
    """A topic in memory; remembers how much of it was read."""

    def __init__(self) -> None:
        self.records: dict[tuple[int, int], ReadRecord] = {}
        self.read_offsets: list[tuple[int, int]] = []
        self.closed = 0

    def put(self, partition: int, offset: int, event_type: str) -> None:
        event = an_event(id=UUID(int=offset + 1), type=event_type)
        self.records[partition, offset] = ReadRecord(
            topic="outbox.events",
            partition=partition,
            offset=offset,
            key=b"1",
            value=b"{}",
            headers=[*encode_event(event)] if event_type else [],
        )

    def __call__(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Range:
        self._left = sorted(
            place for place in self.records if begins.get(place[0], 1 << 60) <= place[1] < ends[place[0]]
        )
        return self

    @property
    def done(self) -> bool:
        return not self._left

    def read(self, most: int) -> Sequence[ReadRecord]:
        given, self._left = self._left[:most], self._left[most:]
        self.read_offsets += given
        return [self.records[place] for place in given]

    def close(self) -> None:
        self.closed += 1


def plan(number: int, *, again: tuple[Run, ...] = (), skipped: tuple[Run, ...] = ()) -> PartitionPlan:
    standing = Standing(number=number, begin=0, end=10_000, committed=0)
    return PartitionPlan(standing=standing, to=0, again=again, skipped=skipped)


def wanted_by(event: Event) -> Sequence[str]:
    return {"a": ("endpoint:ep_1", "handler:h"), "b": ("endpoint:ep_1",)}.get(event.type, ())


def test_each_event_is_counted_where_it_belongs() -> None:
    """Again and skipped apart; what is neither is not counted. Poison and the unwanted have a name."""
    log = Range()
    for offset, event_type in enumerate(["a", "b", "a", "", "c", "b"]):
        log.put(0, offset, event_type)
        log.put(1, offset, event_type)
    look = look_at(
        [plan(0, again=((0, 2), (3, 5))), plan(1, skipped=((4, 6),))],
        most=100,
        wanted_by=wanted_by,
        read_range=log,
    )
    assert look.whole
    assert look.again.events == 4
    assert look.again.types == Counter({"a": 1, "b": 1, UNREADABLE: 1, "c": 1})
    assert look.again.targets == Counter({"endpoint:ep_1": 2, "handler:h": 1, NOBODY: 2})
    assert look.again.by_partition == {0: 4}
    assert look.skipped.types == Counter({"c": 1, "b": 1})
    assert look.skipped.targets == Counter({NOBODY: 1, "endpoint:ep_1": 1})
    assert log.closed == 1


def test_an_empty_plan_reads_nothing() -> None:
    """No range, no reader."""
    log = Range()
    look = look_at([plan(0)], most=100, wanted_by=wanted_by, read_range=log)
    assert (look.whole, look.again.events, log.closed) == (True, 0, 0)


def test_of_a_huge_range_a_sample_is_read_that_lies_over_all_of_it() -> None:
    """Bounded work, and said: types that are only at its end are in the sample too."""
    log = Range()
    for offset in range(10_000):
        log.put(0, offset, "a" if offset < 9_000 else "b")
    look = look_at([plan(0, again=((0, 10_000),))], most=1_000, wanted_by=wanted_by, read_range=log)
    assert not look.whole
    assert look.again.events == len(set(log.read_offsets)) == 1_000
    assert look.again.types == {"a": 900, "b": 100}


def test_who_wants_no_look_gets_none() -> None:
    """`--look 0`."""
    log = Range()
    log.put(0, 1, "a")
    look = look_at([plan(0, again=((0, 10),))], most=0, wanted_by=wanted_by, read_range=log)
    assert (look.whole, look.again.events, log.closed) == (False, 0, 0)


@given(spans=SPANS, most=st.integers(0, 3_000))
def test_pieces_are_within_their_spans_once_and_no_more_than_asked(spans: dict[int, Run], most: int) -> None:
    """Nothing is read twice, nothing beyond, and never more than `most` of a longer range."""
    read = list(pieces(spans, most))
    offsets = [
        (number, offset)
        for piece in read
        for number, (first, end) in piece.items()
        for offset in range(first, end)
    ]
    assert len(offsets) == len(set(offsets)) <= max(most, 0) or offsets_in(spans.values()) <= most
    assert all(spans[number][0] <= offset < spans[number][1] for number, offset in offsets)
    if offsets_in(spans.values()) <= most:
        assert len(offsets) == offsets_in(spans.values())
