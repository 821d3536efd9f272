"""The schedule of a load: Poisson, from a seed, computed ahead."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arrivals import poisson_arrivals
from benchmarks.orders import order_type, orders


@given(
    st.integers(),
    st.floats(min_value=0.5, max_value=200),
    st.floats(min_value=0.1, max_value=20),
)
def test_arrivals_ascend_within_the_duration(seed: int, rate: float, duration: float) -> None:
    """Every moment is later than the one before it, and none is beyond the end."""
    moments = poisson_arrivals(rate_per_s=rate, duration_s=duration, rng=random.Random(seed))

    assert all(earlier < later for earlier, later in pairwise(moments))
    assert all(0 <= moment < duration for moment in moments)


def test_arrivals_are_poisson() -> None:
    """The gaps' mean is the rate's reverse, and so is their deviation: bursts and pauses, no even spacing."""
    moments = poisson_arrivals(rate_per_s=50, duration_s=2_000, rng=random.Random(1))
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5

    assert mean == pytest.approx(1 / 50, rel=0.02)
    assert deviation == pytest.approx(1 / 50, rel=0.03)


def test_the_same_seed_gives_the_same_load() -> None:
    """Two systems are measured with the same moments and the same events."""

    def load() -> tuple[object, ...]:
        rng = random.Random(9)
        moments = poisson_arrivals(rate_per_s=20, duration_s=5, rng=rng)
        return moments, tuple(orders(len(moments), types=("a", "b"), keys=7, rng=rng))

    assert load() == load()


def test_orders_take_their_types_in_turns() -> None:
    """Every endpoint gets as many events, give or take one, and payloads are of a usual size."""
    types = tuple(order_type(number) for number in range(3))
    made = list(orders(7, types=types, keys=5, rng=random.Random(2)))

    assert [order.type for order in made] == [*types, *types, types[0]]
    assert all(500 <= len(order.payload) <= 700 for order in made)
    assert {order.number for order in made} <= {f"order-{number}" for number in range(5)}
