"""The rate limit: never more than it says, all of it where there is a backlog, and bookings in the order of arrival."""

import heapq
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.rate_limit import RateLimit
from streams.retry.wait import wait_within
from tests.support.deliveries import default_tiers

BOUND_S = 1.0
RATES = st.floats(0.01, 2_000.0)
#: Mostly small steps, and now and then a long rest.
STEPS = st.floats(0.0, 0.05) | st.floats(0.0, 5.0) | st.just(1_000.0)


def most_in_any_window(times_s: list[float], *, per_s: float, burst: float) -> float:
    """By how much the busiest stretch of all is above burst + rate × t; 0 or less where it is nowhere."""
    return max(
        (
            last - first + 1 - burst - per_s * (times_s[last] - times_s[first])
            for first in range(len(times_s))
            for last in range(first, len(times_s))
        ),
        default=0.0,
    )


@given(per_s=RATES, steps=st.lists(STEPS, max_size=60), start_s=st.floats(0, 1e7))
def test_in_no_stretch_of_time_begin_more_than_burst_and_rate_allow(
    per_s: float, steps: list[float], start_s: float
) -> None:
    """Whoever begins whenever it may: at most a second's worth at once, one at least, and the rate from then on."""
    limit, now_s, begun = RateLimit(per_s, now_s=start_s), start_s, []
    for step in steps:
        now_s += step
        for _ in range(30):
            if limit.hold_s(now_s=now_s):
                break
            limit.took(now_s=now_s)
            begun.append(now_s)
    assert most_in_any_window(begun, per_s=per_s, burst=max(1.0, per_s)) <= 1e-6 * len(begun)


@given(changes=st.lists(st.tuples(STEPS, RATES), min_size=1, max_size=40), first=RATES)
def test_nor_do_they_while_the_rate_is_changed(changes: list[tuple[float, float]], first: float) -> None:
    """By the highest rate that there was: a change of the limit, or of the worker's share, is worth no second burst."""
    limit, now_s, begun = RateLimit(first, now_s=0.0), 0.0, []
    for step, per_s in changes:
        now_s += step
        for _ in range(30):
            if limit.hold_s(now_s=now_s):
                break
            limit.took(now_s=now_s)
            begun.append(now_s)
        limit.change(per_s, now_s=now_s)
    highest = max(first, *(per_s for _, per_s in changes))
    assert most_in_any_window(begun, per_s=highest, burst=max(1.0, highest)) <= 1e-6 * len(begun)


@given(per_s=RATES, taken=st.integers(0, 40), ahead=st.integers(0, 50))
def test_a_hold_is_neither_too_long_nor_too_short(per_s: float, taken: int, ahead: int) -> None:
    """When it has passed, so many may begin, and no more; each waits as long as those before it, and a token longer."""
    limit = RateLimit(per_s, now_s=0.0)
    for _ in range(taken):
        if not limit.hold_s(now_s=0.0):
            limit.took(now_s=0.0)
    hold_s = limit.hold_s(now_s=0.0, ahead=ahead)
    assert hold_s <= limit.hold_s(now_s=0.0, ahead=ahead + 1) <= hold_s + 1 / per_s + 1e-9
    if hold_s > 1e-6 and limit.hold_s(now_s=0.0, ahead=0) == 0:
        return
    if ahead == 0 and hold_s > 1e-6:
        assert limit.hold_s(now_s=hold_s * 0.999) > 0
        assert limit.hold_s(now_s=hold_s + 1e-9) <= 1e-6


def test_a_changed_rate_counts_at_once() -> None:
    """What had to wait for a minute goes on when the limit is raised, and nothing is saved up when it is lowered."""
    limit = RateLimit(1 / 60, now_s=0.0)
    limit.took(now_s=0.0)
    assert limit.hold_s(now_s=0.0) == pytest.approx(60)
    limit.change(10.0, now_s=1.0)
    assert limit.hold_s(now_s=1.0) == pytest.approx(0.1, rel=0.02)
    limit.change(1 / 60, now_s=100.0)
    limit.took(now_s=100.0)
    assert limit.hold_s(now_s=100.0) == pytest.approx(60)


def test_who_comes_later_is_booked_behind_those_who_wait() -> None:
    """A token that is there is theirs: else a steady stream of newcomers would keep them out until they die."""
    limit = RateLimit(1.0, now_s=0.0)
    limit.took(now_s=0.0)
    bookings_s = [
        limit.put_off_s(now_s=0.0, ahead=1, booked_in_s=None, bound_s=BOUND_S, crowded=False)
        for _ in range(5)
    ]
    assert bookings_s == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert limit.hold_s(now_s=3.0) == 0
    assert limit.put_off_s(now_s=3.0, ahead=0, booked_in_s=None, bound_s=BOUND_S, crowded=False) == 4.0
    assert limit.put_off_s(now_s=3.0, ahead=0, booked_in_s=0.0, bound_s=BOUND_S, crowded=False) is None


def test_who_comes_before_its_time_waits_the_rest() -> None:
    """And keeps its place: nothing is booked a second time."""
    limit = RateLimit(1.0, now_s=0.0)
    limit.took(now_s=0.0)
    for _ in range(9):
        limit.put_off_s(now_s=0.0, ahead=1, booked_in_s=None, bound_s=BOUND_S, crowded=False)
    for booked_in_s in (8.0, 4.0, 2.0):
        assert (
            limit.put_off_s(now_s=2.0, ahead=0, booked_in_s=booked_in_s, bound_s=BOUND_S, crowded=False)
            == booked_in_s
        )
    assert limit.put_off_s(now_s=2.0, ahead=9, booked_in_s=None, bound_s=BOUND_S, crowded=False) == 9.0


def test_a_booking_of_another_time_is_made_anew() -> None:
    """The limit was raised, or another worker made the booking: where there is no line, nobody waits for hours."""
    limit = RateLimit(1.0, now_s=0.0)
    assert limit.put_off_s(now_s=0.0, ahead=0, booked_in_s=7_200.0, bound_s=BOUND_S, crowded=False) is None


def test_a_crowd_is_put_off_even_if_its_wait_is_short() -> None:
    """INV-6: the room that it takes is not its own."""
    limit = RateLimit(1_000.0, now_s=0.0)
    for _ in range(1_000):
        limit.took(now_s=0.0)
    assert limit.put_off_s(now_s=0.0, ahead=300, booked_in_s=None, bound_s=BOUND_S, crowded=False) is None
    put_off_s = limit.put_off_s(now_s=0.0, ahead=300, booked_in_s=None, bound_s=BOUND_S, crowded=True)
    assert put_off_s == pytest.approx(0.301)


@dataclass
class Backlog:
    """Deliveries for one endpoint with a limit, a worker, and the tiers, played through in no time."""

    per_s: float
    times_s: list[float]
    limit: RateLimit = field(init=False)
    waiting: list[int] = field(default_factory=list)
    served: dict[int, float] = field(default_factory=dict)
    deferrals: dict[int, int] = field(default_factory=dict)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.limit = RateLimit(self.per_s, now_s=0.0)
        self.coming: list[tuple[float, int, float | None]] = [
            (at_s, number, None) for number, at_s in enumerate(self.times_s)
        ]

    def play(self, *, until_s: float = 1e9) -> None:
        tiers = default_tiers()
        while self.coming or self.waiting:
            token_s = self.now_s + self.limit.hold_s(now_s=self.now_s) if self.waiting else 1e12
            if max(self.now_s, min(token_s, self.coming[0][0] if self.coming else 1e12)) > until_s:
                self.now_s = until_s
                return
            if self.coming and self.coming[0][0] <= token_s:
                at_s, number, booked_s = heapq.heappop(self.coming)
                self.now_s = max(self.now_s, at_s)
                put_off_s = self.limit.put_off_s(
                    now_s=self.now_s,
                    ahead=len(self.waiting),
                    booked_in_s=None if booked_s is None else booked_s - self.now_s,
                    bound_s=BOUND_S,
                    crowded=len(self.waiting) > 200,
                )
                if put_off_s is None:
                    self.waiting.append(number)
                else:
                    self.deferrals[number] = self.deferrals.get(number, 0) + 1
                    early_ms = round(max(put_off_s - BOUND_S / 2, 0) * 1000)
                    wait = wait_within(early_ms, now_ms=0, tiers=tiers)
                    # The scheduler is a little late, always.
                    back_s = self.now_s + wait.lane.hold_ms / 1000 + 0.02
                    heapq.heappush(self.coming, (back_s, number, self.now_s + put_off_s))
            else:
                self.now_s = token_s + 1e-9
            while self.waiting and not self.limit.hold_s(now_s=self.now_s):
                self.limit.took(now_s=self.now_s)
                self.served[self.waiting.pop(0)] = self.now_s


@pytest.mark.parametrize(
    ("per_s", "count", "spread_s", "deferrals"),
    [
        (1 / 60, 10, 0.0, 4),
        (1 / 60, 100, 1.0, 12),
        (1 / 60, 60, 1_800.0, 6),
        (1.0, 1_500, 1.5, 7),
        (50.0, 5_000, 2.0, 5),
        (50.0, 5_000, 50.0, 5),
        (1_000.0, 8_000, 2.0, 4),
    ],
)
def test_a_backlog_leaves_at_the_rate_and_comes_by_a_few_times(
    per_s: float, count: int, spread_s: float, deferrals: int
) -> None:
    """CASES 6: one a minute is one a minute, no less; nothing loops, and who came first goes first, nearly."""
    backlog = Backlog(per_s=per_s, times_s=[spread_s * number / count for number in range(count)])
    backlog.play()
    assert len(backlog.served) == count
    ideal_s = (count - max(1.0, per_s)) / per_s
    assert max(backlog.served.values()) <= max(ideal_s, spread_s) + 1 / per_s + BOUND_S
    assert max(backlog.deferrals.values()) <= deferrals
    order = sorted(backlog.served, key=backlog.served.__getitem__)
    if per_s < 1_000:
        assert max(abs(place - number) for place, number in enumerate(order)) <= 2 + 2 * per_s


def test_newcomers_do_not_keep_old_deliveries_out() -> None:
    """Two for each token, for an hour: those of the first minutes are through long before the last ones came."""
    backlog = Backlog(per_s=0.5, times_s=[float(second) for second in range(3_600)])
    backlog.play(until_s=3_600.0)
    assert len(backlog.served) >= 1_770
    oldest_left = min(set(range(3_600)) - set(backlog.served))
    assert oldest_left >= 1_730


def test_a_raised_limit_reaches_what_waits_within_the_longest_tier() -> None:
    """No delivery waits for hours because a limit that holds no more has booked it for then."""
    backlog = Backlog(per_s=1 / 60, times_s=[0.01 * number for number in range(500)])
    backlog.play(until_s=600.0)
    assert len(backlog.served) <= 11
    backlog.limit.change(10.0, now_s=600.0)
    backlog.play()
    assert max(backlog.served.values()) <= 600.0 + 900.0 + 2 * BOUND_S
    times_s = sorted(backlog.served.values())
    after = [time_s for time_s in times_s if time_s > 600.0]
    assert all(later - earlier >= 0 for earlier, later in pairwise(after))
    assert most_in_any_window(after, per_s=10.0, burst=10.0) <= 1e-3


def test_what_was_booked_before_a_restart_is_served_at_the_rate() -> None:
    """After a restart nothing is known of the line: those who come back are served at the rate all the same."""
    backlog = Backlog(per_s=1.0, times_s=[0.01 * number for number in range(300)])
    backlog.play(until_s=100.0)
    backlog.limit = RateLimit(1.0, now_s=100.0)
    backlog.waiting.clear()
    lost = 300 - len(backlog.served) - len(backlog.coming)
    backlog.play()
    assert len(backlog.served) == 300 - lost
    assert max(backlog.served.values()) <= 330.0
