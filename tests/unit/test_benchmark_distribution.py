"""Quantiles of the benchmarks: nearest rank, and honest about what never arrived."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.distribution import Distribution, Quantile

DURATIONS = st.floats(min_value=0, max_value=1e6)
SHARES = st.floats(min_value=0.001, max_value=1.0)


@given(st.lists(DURATIONS, min_size=1), SHARES)
def test_a_quantile_is_the_least_duration_that_covers_its_share(durations: list[float], share: float) -> None:
    """At least that share of all is no longer, and it is one of them; fewer were shorter than would do."""
    value = Distribution.of(durations).quantile(share).value_ms

    assert value in durations
    covered = sum(duration <= value for duration in durations)
    assert covered >= share * len(durations) - 1e-6
    assert sum(duration < value for duration in durations) < share * len(durations) + 1e-6


def test_known_quantiles() -> None:
    """Of 1 to 100, p50 is 50, p99 is 99, the last is 100."""
    distribution = Distribution.of(float(number) for number in range(1, 101))

    assert [distribution.quantile(share).value_ms for share in (0.5, 0.07, 0.99, 1.0)] == [50, 7, 99, 100]


@given(
    st.lists(DURATIONS, max_size=40),
    st.lists(DURATIONS, min_size=1, max_size=40),
    st.floats(min_value=0, max_value=1e6),
    SHARES,
)
def test_what_never_arrived_never_makes_a_system_look_faster(
    ended: list[float], waited: list[float], longer: float, share: float
) -> None:
    """However long the unended ones took in truth, the quantile shown is a lower bound, and exact if not marked."""
    shown = Distribution.of(ended, waited).quantile(share)
    truth = Distribution.of([*ended, *(wait + longer for wait in waited)]).quantile(share)

    assert shown.value_ms <= truth.value_ms
    if not shown.is_lower_bound:
        assert shown.value_ms == truth.value_ms


def test_unended_ones_are_counted() -> None:
    """They are part of the count, and of the quantiles that reach as far as they do."""
    distribution = Distribution.of([1.0, 2.0], [5.0])

    assert (len(distribution), distribution.unended) == (3, 1)
    assert distribution.quantile(0.5) == Quantile(2.0, is_lower_bound=False)
    assert distribution.cells() == ("2.0", "≥ 5.0", "≥ 5.0", "≥ 5.0")


def test_nothing_measured_shows_dashes() -> None:
    """No made-up zero: dashes in a table, an error for who asks for a number."""
    empty = Distribution.of([])

    assert set(empty.cells()) == {"–"}
    with pytest.raises(ValueError, match="no durations"):
        empty.quantile(0.5)


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, math.nan])
def test_a_share_beyond_the_whole_is_refused(share: float) -> None:
    """A quantile of 0 % or of 101 % means nothing."""
    with pytest.raises(ValueError, match="share"):
        Distribution.of([1.0]).quantile(share)
