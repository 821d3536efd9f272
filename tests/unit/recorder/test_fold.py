"""The fold: how a delivery stands, in whatever order, batches and repetitions its records are read."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.log_rows import DeliveryRow
from streams.recorder.entry import Entry
from streams.recorder.fold import fold
from tests.support.attempt_records import CREATED_AT_MS, an_entry

ENDINGS = ("succeeded", "retried", "interrupted", "deferred", "exhausted", "rejected", "cancelled")

#: A delivery's records as several workers may have left them: attempts repeated under other ids, runs side by side.
records = st.lists(
    st.builds(
        lambda ending, attempt, deferrals, replay, started, number: an_entry(
            ending,
            attempt=attempt,
            deferrals=deferrals,
            replay_id=replay,
            started_at_ms=CREATED_AT_MS + started,
            attempt_id=str(UUID(int=number)),
        ),
        st.sampled_from(ENDINGS),
        st.integers(1, 3),
        st.integers(0, 2),
        st.sampled_from([None, "r1", "r2"]),
        st.integers(0, 3),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda entry: entry.attempt.id,
)


def kept(batches: list[list[Entry]]) -> dict[str, DeliveryRow]:
    """What stands after these batches: the writer's rule, the greater rank wins."""
    rows: dict[str, DeliveryRow] = {}
    for batch in batches:
        for row in fold(batch):
            rows[row.id] = max(row, rows.get(row.id, row), key=lambda each: each.rank)
    return rows


@given(entries=records, data=st.data())
def test_order_batches_and_repetitions_make_no_difference(entries: list[Entry], data: st.DataObject) -> None:
    """Any interleaving, any duplicates, cut into any batches, give the state that one reading in order gives."""
    again = data.draw(st.lists(st.sampled_from(entries), max_size=8))
    shuffled = data.draw(st.permutations([*entries, *again]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    batches = [shuffled[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)]
    assert kept(batches) == kept([entries])


def status_after(*entries: Entry) -> str:
    (row,) = fold(entries)
    assert fold([*reversed(entries)]) == [row]
    return row.status


def entry(ending: str, number: int, **changes: Any) -> Entry:
    """A record; later ones have greater numbers, ids and times."""
    return an_entry(ending, attempt_id=str(UUID(int=number)), started_at_ms=CREATED_AT_MS + number, **changes)


@pytest.mark.parametrize(
    ("entries", "status"),
    [
        # A chain, and a retry of it that is read late.
        ([entry("retried", 1), entry("succeeded", 2, attempt=2)], "succeeded"),
        ([entry("retried", 1), entry("exhausted", 2, attempt=2)], "failed"),
        ([entry("retried", 9), entry("rejected", 2)], "failed"),
        ([entry("deferred", 1), entry("retried", 2, deferrals=1)], "retrying"),
        ([entry("deferred", 1), entry("deferred", 2, deferrals=1)], "pending"),
        ([entry("retried", 1), entry("cancelled", 2, attempt=2)], "cancelled"),
        # After a crash the same attempt was made twice, and one of the two has reached the target: it has it.
        ([entry("succeeded", 1), entry("retried", 2), entry("exhausted", 3, attempt=2)], "succeeded"),
        ([entry("exhausted", 1, attempt=3), entry("succeeded", 2, attempt=1)], "succeeded"),
        # The topic was read from its beginning again: a delivery that had ended is not open again by that.
        ([entry("exhausted", 1, attempt=3), entry("retried", 9, attempt=1)], "failed"),
        # A replay speaks for itself, whatever came before, and a later one above an earlier.
        ([entry("exhausted", 1, attempt=3), entry("retried", 2, replay_id="r1")], "retrying"),
        ([entry("succeeded", 1), entry("rejected", 2, replay_id="r1")], "failed"),
        ([entry("rejected", 2, replay_id="r1"), entry("deferred", 3, replay_id="r2")], "pending"),
        ([entry("succeeded", 9, attempt=8), entry("retried", 2, replay_id="r1")], "retrying"),
    ],
)
def test_how_a_delivery_stands(entries: list[Entry], status: str) -> None:
    """docs/adr/0012: the latest replay, then the most final end, then the furthest attempt."""
    assert status_after(*entries) == status


def test_each_delivery_of_a_batch_has_one_row() -> None:
    """Two targets of one event are two deliveries."""
    rows = fold([entry("retried", 1), entry("succeeded", 2, target="endpoint:ep_2"), entry("retried", 3)])
    assert sorted(row.target for row in rows) == ["endpoint:ep_1", "endpoint:ep_2"]
