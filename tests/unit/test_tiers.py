"""Retry tiers and lanes: how long each lane holds, and that jitter is a choice of lane."""

from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streams.retry.tiers import Lane, RetryTiers
from tests.support.chance import seeded
from tests.support.deliveries import DEFAULT_TIERS, default_tiers

lane_counts = st.integers(1, 64)
chances = st.floats(0, 1, exclude_max=True)
ladders = (
    st.lists(st.integers(1, 86_400_000), min_size=1, max_size=12, unique=True)
    .map(sorted)
    .map(lambda tiers_ms: [timedelta(milliseconds=tier_ms) for tier_ms in tiers_ms])
)


def lanes_of(tiers: RetryTiers, topic: str) -> list[Lane]:
    return sorted((lane for lane in tiers.lanes if lane.topic == topic), key=lambda lane: lane.partition)


@given(lanes=lane_counts)
def test_a_lane_holds_its_share_of_the_tier(lanes: int) -> None:
    """Lane i of P holds T·(0.5 + 0.5·(i+1)/P): the partition is the jitter, within (0.5, 1] of the tier."""
    tiers = default_tiers(lanes=lanes)
    assert len(tiers.lanes) == lanes * len(DEFAULT_TIERS)
    for topic, tier in zip(tiers.topics, DEFAULT_TIERS, strict=True):
        tier_ms = tier / timedelta(milliseconds=1)
        for number, lane in enumerate(lanes_of(tiers, topic)):
            assert lane.partition == number
            assert abs(lane.hold_ms - tier_ms * (0.5 + 0.5 * (number + 1) / lanes)) <= 0.5
            assert tier_ms / 2 < lane.hold_ms <= tier_ms


@given(lanes=lane_counts, delay_ms=st.integers(0, 900_000), chance=chances)
def test_a_jittered_lane_is_within_half_the_delay_and_the_delay(
    lanes: int, delay_ms: int, chance: float
) -> None:
    """The polling worker's jitter, (0.5, 1] of the backoff, wherever the default tiers have such a lane."""
    tiers = default_tiers(lanes=lanes)
    lane = tiers.jittered(delay_ms, random=lambda: chance)
    if any(delay_ms / 2 < candidate.hold_ms <= delay_ms for candidate in tiers.lanes):
        assert delay_ms / 2 < lane.hold_ms <= delay_ms
    else:
        assert lane.hold_ms > delay_ms / 2


@given(lanes=lane_counts, tier=st.sampled_from(DEFAULT_TIERS), chance=chances)
def test_every_tiers_own_delay_finds_a_lane(lanes: int, tier: timedelta, chance: float) -> None:
    """With the default ladder no backoff of base·2^n falls between the lanes, however few of them there are."""
    delay_ms = tier // timedelta(milliseconds=1)
    lane = default_tiers(lanes=lanes).jittered(delay_ms, random=lambda: chance)
    assert delay_ms / 2 < lane.hold_ms <= delay_ms


@given(ladder=ladders, lanes=lane_counts, delay_ms=st.integers(0, 100_000_000), chance=chances)
def test_any_ladder_holds_for_more_than_half_the_delay(
    ladder: list[timedelta], lanes: int, delay_ms: int, chance: float
) -> None:
    """Tiers far apart may hold for longer than asked, and never for less than half of it."""
    tiers = RetryTiers(ladder, lanes=lanes)
    assume(delay_ms <= tiers.longest_ms)
    lane = tiers.jittered(delay_ms, random=lambda: chance)
    assert lane.hold_ms * 2 >= delay_ms


@given(ladder=ladders, lanes=lane_counts, wait_ms=st.integers(0, 100_000_000))
def test_at_most_is_the_longest_lane_that_is_not_too_long(
    ladder: list[timedelta], lanes: int, wait_ms: int
) -> None:
    """Who comes by too early waits the rest; only where every lane is longer, it is the shortest of all."""
    tiers = RetryTiers(ladder, lanes=lanes)
    short_enough = [lane.hold_ms for lane in tiers.lanes if lane.hold_ms <= wait_ms]
    assert tiers.at_most(wait_ms).hold_ms == max(short_enough, default=tiers.lanes[0].hold_ms)


@given(ladder=ladders, lanes=lane_counts, wait_ms=st.integers(-10, 100_000_000))
def test_at_least_is_the_shortest_lane_that_is_long_enough(
    ladder: list[timedelta], lanes: int, wait_ms: int
) -> None:
    """CASES 8: a wait that was asked for is never cut short by the lane, while any lane is that long."""
    tiers = RetryTiers(ladder, lanes=lanes)
    lane = tiers.at_least(wait_ms)
    if wait_ms <= tiers.longest_ms:
        assert lane.hold_ms >= wait_ms
        assert not any(wait_ms <= other.hold_ms < lane.hold_ms for other in tiers.lanes)
    else:
        assert lane.hold_ms == tiers.longest_ms


@given(ladder=ladders, lanes=lane_counts, chance=chances)
def test_a_lap_is_in_the_longest_tier(ladder: list[timedelta], lanes: int, chance: float) -> None:
    """A wait beyond every lane takes laps where they are fewest."""
    tiers = RetryTiers(ladder, lanes=lanes)
    assert tiers.lap(random=lambda: chance).topic == tiers.topics[-1]


@pytest.mark.parametrize("lanes", [1, 6, 7, 64])
@pytest.mark.parametrize("delay_s", [1, 32, 60, 900])
def test_a_thousand_simultaneous_failures_spread_evenly_over_the_lanes(lanes: int, delay_s: int) -> None:
    """CASES 9: failures of one moment come back spread over every lane of their delay, none of them crowded.

    The bound is chi-square's, at a chance of 1 in 10^6 (normal approximation), for a seeded source.
    """
    tiers = default_tiers(lanes=lanes)
    random = seeded(9).random
    counts: dict[Lane, int] = {}
    for _ in range(1_000):
        lane = tiers.jittered(delay_s * 1_000, random=random)
        counts[lane] = counts.get(lane, 0) + 1
    candidates = [lane for lane in tiers.lanes if delay_s * 500 < lane.hold_ms <= delay_s * 1_000]
    assert set(counts) == set(candidates)
    assert len(candidates) >= lanes
    expected = 1_000 / len(candidates)
    freedom = len(candidates) - 1
    chi_square = sum((counts[lane] - expected) ** 2 / expected for lane in candidates)
    assert chi_square <= freedom + 4.75 * (2 * freedom) ** 0.5 + 10


@pytest.mark.parametrize(
    ("seconds", "lanes"),
    [([], 6), ([2, 1], 6), ([1, 1], 6), ([1, 2], 0)],
    ids=["none", "falls", "same", "no lane"],
)
def test_a_ladder_that_is_none_is_refused(seconds: list[int], lanes: int) -> None:
    """Tiers ascend and differ, and have lanes: anything else would break the due order."""
    with pytest.raises(ValueError, match=r"tier|lane"):
        RetryTiers([timedelta(seconds=second) for second in seconds], lanes=lanes)
