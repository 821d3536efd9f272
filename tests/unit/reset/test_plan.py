"""From where to where, what is read again and what never: the whole plan, without Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.commit.ledger import PartitionLedger
from streams.commit.metadata import Run, encode
from streams.errors import ResetRefused
from streams.reset.plan import (
    Aim,
    PartitionPlan,
    ShiftBy,
    Standing,
    ToEarliest,
    ToOffsets,
    ToTime,
    offsets_in,
    plan_reset,
)

NOW = ToTime(datetime(2026, 12, 1, tzinfo=UTC))


def standing(number: int = 0, *, settled: tuple[Run, ...] = (), committed: int | None = 60) -> Standing:
    return Standing(number=number, begin=20, end=100, committed=committed, settled=settled)


def planned(aim: Aim, *standings: Standing, at: int = 0) -> PartitionPlan:
    (plan,) = plan_reset(aim, standings or (standing(),), at_time={0: at})
    return plan


@pytest.mark.parametrize(
    ("aim", "at", "to"),
    [
        (ToEarliest(), 0, 20),
        (ShiftBy(-10), 0, 50),
        (ShiftBy(-41), 0, 20),
        (ShiftBy(+40), 0, 100),
        (ShiftBy(+41), 0, 100),
        (ToOffsets({0: 20}), 0, 20),
        (ToOffsets({0: 100}), 0, 100),
        (NOW, 33, 33),
        (NOW, 100, 100),
    ],
)
def test_each_kind_of_aim_ends_within_the_log(aim: Aim, at: int, to: int) -> None:
    """A shift is cut at the log's ends; a time that no record has is the end."""
    plan = planned(aim, at=at)
    assert plan.to == to
    assert offsets_in(plan.again) == max(60 - to, 0)
    assert offsets_in(plan.skipped) == max(to - 60, 0)
    assert plan.changes


@pytest.mark.parametrize(
    ("aim", "at", "note"),
    [
        (ShiftBy(-41), 0, "1 offsets short: the log begins at 20"),
        (ShiftBy(+45), 0, "5 offsets short: the log ends at 100"),
        (NOW, 100, "no record is of then or later: to the end"),
        (NOW, 20, "what was before 20 is deleted"),
        (ToEarliest(), 0, "what was before 20 is deleted"),
        (NOW, 50, None),
    ],
)
def test_what_is_not_quite_what_was_asked_for_is_said(aim: Aim, at: int, note: str | None) -> None:
    """Retention gaps, ends, times in the future."""
    assert planned(aim, at=at).note == note


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({0: 101}, r"--to-offset 0:101: partition 0 has the offsets 20 to 100, the last being its end"),
        ({0: 19}, r"--to-offset 0:19: .*what came before is deleted"),
        ({0: 50, 7: 5}, r"--to-offset 7:5: there is no partition 7, only 0"),
    ],
)
def test_an_offset_that_is_not_there_is_refused_by_name(offsets: dict[int, int], said: str) -> None:
    """Typed by somebody: nearly right is wrong."""
    with pytest.raises(ResetRefused, match=said):
        plan_reset(ToOffsets(offsets), [standing()], at_time={})


def test_partitions_that_are_not_named_are_left_alone() -> None:
    """`--to-offset` is about those that it names."""
    plans = plan_reset(ToOffsets({1: 30}), [standing(0), standing(1), standing(2)], at_time={})
    assert [plan.number for plan in plans] == [1]


@pytest.mark.parametrize(
    ("committed", "note"),
    [
        (None, "nothing is committed: workers would begin at 20"),
        (19, "the commit 19 is not in the log: workers would begin at 20"),
        (101, "the commit 101 is not in the log: workers would begin at 20"),
    ],
)
def test_cases_31_a_commit_that_is_nowhere_counts_as_the_beginning(committed: int | None, note: str) -> None:
    """Workers would read everything from there: what lies before the new offset is what is skipped of it."""
    plan = planned(ToOffsets({0: 90}), standing(committed=committed, settled=((95, 97),)))
    assert (plan.note, plan.skipped) == (note, ((20, 90),))
    assert plan.again == (((95, 97),) if committed == 19 else ())
    assert plan.changes


def test_where_the_group_stands_already_there_is_nothing_to_write() -> None:
    """An empty range."""
    plan = planned(ToOffsets({0: 60}))
    assert not plan.changes
    assert (plan.again, plan.skipped) == ((), ())


def test_what_was_settled_beyond_the_commit_is_read_again_too() -> None:
    """A reset forgets it, wherever it leads to: so it counts."""
    beyond = standing(settled=((62, 65), (70, 80)))
    assert planned(ToOffsets({0: 50}), beyond).again == ((50, 60), (62, 65), (70, 80))
    assert planned(ToOffsets({0: 60}), beyond).again == ((62, 65), (70, 80))
    assert planned(ToOffsets({0: 60}), beyond).changes
    forward = planned(ToOffsets({0: 72}), beyond)
    assert (forward.skipped, forward.again) == (((60, 62), (65, 70)), ((72, 80),))


_EDGES = st.lists(st.integers(0, 30), unique=True, max_size=8).map(sorted)


def runs(edges: Iterable[int], *, beyond: int) -> tuple[Run, ...]:
    """Runs that ascend beyond an offset and don't touch."""
    found = [edge + beyond for edge in edges if edge]
    return tuple(zip(found[0::2], found[1::2], strict=False))


def read_by_a_worker(begin: int, end: int, committed: int | None, text: str) -> set[int]:
    """What a worker takes of a log, by its own ledger."""
    starts = begin if committed is None or not begin <= committed <= end else committed
    ledger = PartitionLedger(committed=committed, committed_metadata=text)
    return {offset for offset in range(starts, end) if ledger.receive(offset)}


@given(
    begin=st.integers(0, 10),
    length=st.integers(0, 20),
    committed=st.none() | st.integers(0, 40),
    edges=_EDGES,
    to=st.integers(0, 30),
)
def test_a_plan_says_what_a_worker_will_do(
    begin: int, length: int, committed: int | None, edges: list[int], to: int
) -> None:
    """What is read again and skipped is exactly how a worker's reading before and after the reset differ."""
    end = begin + length
    settled = runs(edges, beyond=committed or 0)
    text = "" if committed is None else encode(committed, settled)
    before = read_by_a_worker(begin, end, committed, text)
    at = min(max(to, begin), end)
    plan = planned(
        ToOffsets({0: at}),
        Standing(
            number=0,
            begin=begin,
            end=end,
            committed=committed,
            settled=settled if committed is not None else (),
        ),
    )
    after = read_by_a_worker(begin, end, at, "@1")
    covered = {offset for first, last in plan.again for offset in range(first, last)}
    assert covered == after - before
    assert {offset for first, last in plan.skipped for offset in range(first, last)} == before - after
    assert plan.changes or before == after
