"""The baseline's backoff is that of the polling worker it stands for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.polling_worker import polling_delay_s


@given(st.integers(min_value=1, max_value=8), st.floats(min_value=0, max_value=1))
def test_delays_double_with_jitter_below(attempt: int, share: float) -> None:
    """Base 1 s, doubled each time, at most 15 min, times a jitter within [0.5, 1.0]."""
    whole_s = min(2.0 ** (attempt - 1), 900.0)

    assert whole_s / 2 <= polling_delay_s(attempt, random_share=share) <= whole_s


@given(st.integers(min_value=11, max_value=60))
def test_no_delay_is_longer_than_a_quarter_of_an_hour(attempt: int) -> None:
    """However many attempts there were."""
    assert polling_delay_s(attempt, random_share=1.0) == 900.0
