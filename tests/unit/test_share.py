"""A worker's share of an endpoint's limits: the workers' parts add up to what was set."""

from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.share import Share


def balanced(partitions: int, workers: int) -> list[Share]:
    """As the group assigns: nobody has two more than another. Those who own nothing make no attempt."""
    owned = [partitions // workers + (number < partitions % workers) for number in range(workers)]
    return [Share(count, partitions) for count in owned if count]


@given(per_s=st.floats(0.001, 10_000), partitions=st.integers(1, 64), workers=st.integers(1, 80))
def test_the_workers_rates_add_up_to_the_limit(per_s: float, partitions: int, workers: int) -> None:
    """However many they are."""
    shares = balanced(partitions, workers)
    assert abs(sum(share.of_rate(per_s) for share in shares) - per_s) <= 1e-9 * per_s * len(shares)


@given(attempts=st.integers(1, 1_000), partitions=st.integers(1, 64), workers=st.integers(1, 80))
def test_the_workers_together_have_no_more_attempts_than_the_limit_unless_they_are_more(
    attempts: int, partitions: int, workers: int
) -> None:
    """Each has one at least, or its partitions would stand still."""
    shares = balanced(partitions, workers)
    parts = [share.of_concurrency(attempts) for share in shares]
    assert min(parts) >= 1
    assert sum(parts) <= max(attempts, len(shares))


def test_a_lone_worker_has_all_of_it() -> None:
    """And one that owns nothing counts as if it owned one partition: nothing divides by zero."""
    assert (Share(6, 6).of_rate(50.0), Share(6, 6).of_concurrency(5)) == (50.0, 5)
    assert (Share(0, 6).of_rate(6.0), Share(0, 6).of_concurrency(6), Share(0, 0).of_rate(1.0)) == (
        1.0,
        1,
        1.0,
    )
