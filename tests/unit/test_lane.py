"""A lane: the buffered head of one partition, in due order, bounded."""

from hypothesis import given
from hypothesis import strategies as st

from streams.commit.ledger import PartitionLedger
from streams.delay.lane import BUFFER_BYTES, BUFFER_RECORDS, Lane, Waiting


def a_lane(*dues_ms: int) -> Lane:
    lane = Lane(PartitionLedger())
    for offset, due_at_ms in enumerate(dues_ms):
        lane.put(waiting(offset, due_at_ms))
    return lane


def waiting(offset: int, due_at_ms: int = 0, *, value: bytes | None = b"") -> Waiting:
    return Waiting(offset=offset, due_at_ms=due_at_ms, key=None, value=value, headers={})


def offsets(taken: list[Waiting]) -> list[int]:
    return [record.offset for record in taken]


@given(holds=st.lists(st.integers(0, 50), max_size=60), clock=st.lists(st.integers(0, 20), max_size=60))
def test_no_record_leaves_before_it_is_due_and_all_leave_in_order(holds: list[int], clock: list[int]) -> None:
    """INV-3: whatever the clock does in between, what is taken is due, and what is due is taken."""
    dues = [sum(holds[: number + 1]) for number in range(len(holds))]
    lane, now_ms, taken = a_lane(*dues), 0, []
    for passed_ms in [*clock, sum(holds)]:
        now_ms += passed_ms
        due = lane.take_due(now_ms=now_ms, most=1_000)
        assert all(record.due_at_ms <= now_ms for record in due)
        next_due_ms = lane.next_due_ms()
        assert next_due_ms is None or next_due_ms > now_ms
        taken += due
    assert offsets(taken) == list(range(len(holds)))
    assert len(lane) == 0


def test_a_record_is_due_at_its_very_millisecond() -> None:
    """INV-3: not one millisecond before, and not one later than need be."""
    lane = a_lane(100)
    assert lane.take_due(now_ms=99, most=10) == []
    assert offsets(lane.take_due(now_ms=100, most=10)) == [0]


def test_a_late_head_holds_an_early_tail() -> None:
    """INV-3: a record out of order (two workers' clocks) waits for the one before it; none is early."""
    lane = a_lane(200, 100)
    assert lane.take_due(now_ms=150, most=10) == []
    assert offsets(lane.take_due(now_ms=200, most=10)) == [0, 1]


def test_no_more_than_asked_for_is_taken() -> None:
    """Kafka's acknowledgements set the pace; the rest stays in order."""
    lane = a_lane(1, 2, 3, 4)
    assert offsets(lane.take_due(now_ms=10, most=3)) == [0, 1, 2]
    assert offsets(lane.take_due(now_ms=10, most=0)) == []
    assert offsets(lane.take_due(now_ms=10, most=-5)) == []
    assert offsets(lane.take_due(now_ms=10, most=3)) == [3]


def test_a_lane_is_full_and_low_by_its_records() -> None:
    """CASES 42: no more than a small buffer is read ahead, however long the backlog; half empty, it is filled again."""
    lane = Lane(PartitionLedger())
    for offset in range(BUFFER_RECORDS):
        assert not lane.full
        lane.put(waiting(offset))
    assert (lane.full, lane.low) == (True, False)
    lane.take_due(now_ms=0, most=BUFFER_RECORDS // 2 - 1)
    assert (lane.full, lane.low) == (False, False)
    lane.take_due(now_ms=0, most=1)
    assert (lane.full, lane.low) == (False, True)


def test_a_lane_of_large_records_is_full_by_their_bytes() -> None:
    """CASES 42: a thousand records of a megabyte each, in every lane, would be the end of the process."""
    lane = Lane(PartitionLedger())
    offset = 0
    while not lane.full:
        lane.put(waiting(offset, value=b"x" * 1_000_000))
        offset += 1
    assert offset * 1_000_000 < BUFFER_BYTES + 2_000_000
    assert (lane.full, lane.low) == (True, False)
    lane.take_due(now_ms=0, most=offset)
    assert (lane.full, lane.low) == (False, True)


@given(sizes=st.lists(st.integers(0, 3_000_000), min_size=1, max_size=20))
def test_an_empty_lane_is_always_low(sizes: list[int]) -> None:
    """A lane that was paused is resumed at the latest when it is empty, whatever stood in it."""
    lane = Lane(PartitionLedger())
    blob = bytes(3_000_000)
    for offset, size in enumerate(sizes):
        lane.put(waiting(offset, value=blob[:size]))
    lane.take_due(now_ms=0, most=len(sizes))
    assert (lane.full, lane.low) == (False, True)
