"""Which records are read together: neighbours, with few unwanted ones between them."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.places_reader import runs


@given(offsets=st.lists(st.integers(0, 10_000), unique=True).map(sorted), between=st.integers(0, 100))
def test_every_place_is_in_one_run_and_no_run_reads_far(offsets: list[int], between: int) -> None:
    """All of them, in order; within a run the gaps are small, and between two runs they are not."""
    found = list(runs(offsets, between=between))
    assert list(chain.from_iterable(found)) == offsets
    for run in found:
        assert all(later - earlier <= between + 1 for earlier, later in pairwise(run))
    assert all(later[0] - earlier[-1] > between + 1 for earlier, later in pairwise(found))
