"""Waits: in one lane or in laps, never shorter than asked, and every lane a queue in due order."""

from datetime import timedelta
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from streams.retry.tiers import Lane, RetryTiers
from streams.retry.wait import Wait, wait_about, wait_at_least, wait_until
from tests.support.chance import seeded
from tests.support.deliveries import NOW_MS, default_tiers

lane_counts = st.integers(1, 64)
seeds = st.integers(0, 2**32)
#: Up to ten days: longer than any Retry-After that is believed, and any delay of a schedule.
waits_ms = st.integers(0, 10 * 86_400_000)


def sit_out(wait: Wait, *, tiers: RetryTiers, random: Random) -> tuple[int, int]:
    """What the scheduler does with it: move it on when it is due, until no lap is left. When, and how many lanes."""
    hops = 1
    while wait.not_before_ms is not None and wait.not_before_ms > wait.due_at_ms:
        wait = wait_until(wait.not_before_ms, now_ms=wait.due_at_ms, tiers=tiers, random=random.random)
        hops += 1
    return wait.due_at_ms, hops


def widest_gap_ms(tiers: RetryTiers) -> int:
    """How much longer than asked a lane may hold: the most between two neighbours, the first lane's whole hold too."""
    return max(high - low for low, high in pairwise([0, *(lane.hold_ms for lane in tiers.lanes)]))


@given(lanes=lane_counts, wait_ms=waits_ms, seed=seeds)
def test_a_wait_that_was_asked_for_ends_no_earlier_and_a_lane_later_at_most(
    lanes: int, wait_ms: int, seed: int
) -> None:
    """CASES 8, INV-3: Retry-After is never undercut, in one lane or in laps, nor overshot by over a lane's step."""
    tiers, random = default_tiers(lanes=lanes), seeded(seed)
    asked = wait_at_least(wait_ms, now_ms=NOW_MS, tiers=tiers, random=random.random)
    ended_ms, _ = sit_out(asked, tiers=tiers, random=random)
    assert ended_ms >= NOW_MS + wait_ms
    assert ended_ms < NOW_MS + wait_ms + widest_gap_ms(tiers)


@given(lanes=lane_counts, wait_ms=waits_ms, seed=seeds)
def test_laps_are_bounded(lanes: int, wait_ms: int, seed: int) -> None:
    """No wait circles for ever: each lap takes more than half the longest tier off it."""
    tiers, random = default_tiers(lanes=lanes), seeded(seed)
    asked = wait_at_least(wait_ms, now_ms=NOW_MS, tiers=tiers, random=random.random)
    _, hops = sit_out(asked, tiers=tiers, random=random)
    assert hops <= wait_ms // (tiers.longest_ms // 2) + 1


@given(lanes=lane_counts, delay_ms=st.integers(1, 10 * 86_400_000), seed=seeds)
def test_a_backoff_ends_within_half_the_delay_and_the_delay(lanes: int, delay_ms: int, seed: int) -> None:
    """Jitter in (0.5, 1], in laps too, but for a lane's step; no backoff comes back before half of it."""
    tiers, random = default_tiers(lanes=lanes), seeded(seed)
    wait = wait_about(delay_ms, now_ms=NOW_MS, tiers=tiers, random=random.random)
    ended_ms, _ = sit_out(wait, tiers=tiers, random=random)
    assert ended_ms - NOW_MS >= delay_ms / 2
    assert ended_ms - NOW_MS <= delay_ms + widest_gap_ms(tiers)


@given(
    lanes=lane_counts,
    arrivals=st.lists(
        st.tuples(st.integers(0, 60_000), st.sampled_from(["about", "at least", "lap"]), waits_ms),
        max_size=100,
    ),
    seed=seeds,
)
def test_every_lane_is_a_queue_in_due_order(
    lanes: int, arrivals: list[tuple[int, str, int]], seed: int
) -> None:
    """Whatever is parked, the due times of one lane ascend as they arrive: no early record behind a late one."""
    tiers, random = default_tiers(lanes=lanes), seeded(seed).random
    now_ms = NOW_MS
    last_due_ms: dict[Lane, int] = {}
    for later_ms, kind, wait_ms in arrivals:
        now_ms += later_ms
        if kind == "about":
            wait = wait_about(wait_ms, now_ms=now_ms, tiers=tiers, random=random)
        elif kind == "at least":
            wait = wait_at_least(wait_ms, now_ms=now_ms, tiers=tiers, random=random)
        else:
            wait = wait_until(now_ms - 5 + wait_ms, now_ms=now_ms, tiers=tiers, random=random)
        assert wait.due_at_ms >= last_due_ms.get(wait.lane, 0)
        assert wait.due_at_ms == now_ms + wait.lane.hold_ms
        last_due_ms[wait.lane] = wait.due_at_ms


@given(seed=seeds, late_ms=st.integers(0, 10_000))
def test_a_late_scheduler_takes_the_lateness_off_the_next_lap(seed: int, late_ms: int) -> None:
    """A lap is measured from now, not from its due time: lateness does not add up over the laps."""
    tiers, random = default_tiers(), seeded(seed)
    until_ms = NOW_MS + 24 * 3_600_000
    wait = wait_until(until_ms, now_ms=NOW_MS, tiers=tiers, random=random.random)
    while wait.not_before_ms is not None and wait.not_before_ms > wait.due_at_ms + late_ms:
        moved_at_ms = wait.due_at_ms + late_ms
        wait = wait_until(wait.not_before_ms, now_ms=moved_at_ms, tiers=tiers, random=random.random)
    assert until_ms <= wait.due_at_ms + late_ms
    assert wait.due_at_ms < until_ms + widest_gap_ms(tiers)


def test_a_moment_that_has_passed_is_waited_for_in_the_shortest_lane() -> None:
    """A wait below zero is none, and still takes a lane: what is parked is parked."""
    tiers = default_tiers()
    wait = wait_until(NOW_MS - 1, now_ms=NOW_MS, tiers=tiers, random=lambda: 0.5)
    assert wait.lane == tiers.lanes[0]
    assert wait.not_before_ms is None


def test_what_exceeds_the_longest_lane_by_a_millisecond_takes_a_lap() -> None:
    """The border between one lane and laps has no gap on either side."""
    tiers = RetryTiers([timedelta(seconds=1)], lanes=4)
    exact = wait_at_least(1_000, now_ms=NOW_MS, tiers=tiers, random=lambda: 0.0)
    assert (exact.lane.hold_ms, exact.not_before_ms) == (1_000, None)
    beyond = wait_at_least(1_001, now_ms=NOW_MS, tiers=tiers, random=lambda: 0.0)
    assert (beyond.lane.hold_ms, beyond.not_before_ms) == (625, NOW_MS + 1_001)
