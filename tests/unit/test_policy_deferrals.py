"""The retry policy for turns without an attempt: what a deferral costs, how long it waits, and what is booked."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.records.next_hop import DeadLetter, Retry
from streams.records.outcome import (
    Deferred,
    ErrorCode,
    Failed,
    Interrupted,
    Outcome,
)
from tests.support.chance import seeded
from tests.support.decisions import buried, decided, over_the_wire, retried, wait_ms
from tests.support.deliveries import (
    ENDPOINT_POLICY,
    NOW_MS,
    a_delivery,
    default_tiers,
)


def test_deferrals_cost_no_attempt_and_age_ends_them() -> None:
    """CASES 6: a throttled delivery keeps its attempts for as long as its age lasts, and then is a dead letter."""
    delivery, now_ms, waits = a_delivery(attempt=7), NOW_MS, 0
    while isinstance(hop := decided(delivery, Deferred(reason="busy"), now_ms=now_ms), Retry):
        waits += 1
        assert wait_ms(hop, now_ms=now_ms) <= 900_000
        delivery, now_ms = over_the_wire(hop.delivery), hop.due_at_ms
        assert (delivery.attempt, delivery.deferrals, delivery.first_failed_at_ms) == (7, waits, NOW_MS)
    assert buried(hop).code == ErrorCode.HANDLER_TEMPORARY_FAILURE
    assert buried(hop).error.startswith("older than 1 day, 0:00:00: busy")
    assert now_ms <= NOW_MS + 24 * 3_600_000 < now_ms + 900_000
    assert waits > 24 * 4


def test_a_deferral_waits_about_as_long_as_all_before_it_and_no_shorter_than_it_is_told() -> None:
    """CASES 7: what has piled up for an endpoint that is down comes by seldom, and not while its circuit is open."""
    waits = []
    for deferrals in range(12):
        hop = retried(decided(a_delivery(deferrals=deferrals), Deferred(reason="open")))
        waits.append(wait_ms(hop, now_ms=NOW_MS))
    assert all(500 * 2**n <= wait <= 1_000 * 2**n for n, wait in enumerate(waits[:9]))
    assert all(450_000 <= wait <= 900_000 for wait in waits[10:])
    for chance in (0.0, 0.5, 0.999):
        outcome = Deferred(reason="open", retry_after=timedelta(seconds=60))
        told = retried(decided(a_delivery(), outcome, chance=chance))
        assert 60_000 <= wait_ms(told, now_ms=NOW_MS) <= 120_000


@pytest.mark.parametrize("chance", [0.0, 0.5, 0.999])
def test_the_jitter_beyond_a_hint_ends_no_delivery_before_its_age(chance: float) -> None:
    """An endpoint whose deliveries may be a minute old: an open circuit's 40 s are no reason to give one up at once."""
    policy = replace(ENDPOINT_POLICY, max_age=timedelta(minutes=1))
    outcome = Deferred(reason="open", retry_after=timedelta(seconds=40))
    told = retried(decided(a_delivery(), outcome, policy=policy, chance=chance))
    assert 40_000 <= wait_ms(told, now_ms=NOW_MS) <= 60_000
    too_old = decided(a_delivery(first_failed_at_ms=NOW_MS - 25_000), outcome, policy=policy, chance=chance)
    assert buried(too_old).error == "older than 0:01:00: open"


@given(booked_in_ms=st.integers(0, 10**13), early_ms=st.integers(0, 1_000), deferrals=st.integers(0, 50))
def test_a_booked_delivery_comes_by_before_that_and_waits_no_longer_the_oftener_it_has_waited(
    booked_in_ms: int, early_ms: int, deferrals: int
) -> None:
    """CASES 6: no attempt is spent; the booking is in the record; in the longest tier's time it is looked at again."""
    retry_after = timedelta(milliseconds=max(booked_in_ms - early_ms, 0))
    outcome = Deferred(reason="rate", retry_after=retry_after, booked_in=timedelta(milliseconds=booked_in_ms))
    hop = retried(decided(a_delivery(attempt=3, deferrals=deferrals), outcome))
    assert (hop.delivery.attempt, hop.delivery.deferrals) == (3, deferrals + 1)
    assert hop.delivery.booked_for_ms == NOW_MS + booked_in_ms
    assert over_the_wire(hop.delivery) == hop.delivery
    shortest_ms = default_tiers().lanes[0].hold_ms
    assert wait_ms(hop) <= max(retry_after // timedelta(milliseconds=1), shortest_ms)
    assert wait_ms(hop) >= min(0.85 * retry_after / timedelta(milliseconds=1), 900_000 * 0.999)
    assert hop.not_before_ms is None


@pytest.mark.parametrize(
    "outcome",
    [Failed(error="503"), Interrupted(), Deferred(reason="open", retry_after=timedelta(seconds=5))],
    ids=["failed", "interrupted", "deferred"],
)
def test_a_booking_ends_with_an_attempt_and_with_a_deferral_of_another_kind(outcome: Outcome) -> None:
    """It said when an attempt could begin: the next one has to be booked anew."""
    assert retried(decided(a_delivery(booked_for_ms=NOW_MS), outcome)).delivery.booked_for_ms is None


def test_a_dead_letter_is_booked_for_no_time() -> None:
    """Age ended it; when it is redriven, the line is another."""
    outcome = Deferred(reason="rate", retry_after=timedelta(hours=1), booked_in=timedelta(hours=1))
    hop = buried(decided(a_delivery(first_failed_at_ms=NOW_MS - 24 * 3_600_000), outcome))
    assert (hop.delivery.booked_for_ms, hop.error) == (None, "older than 1 day, 0:00:00: rate")


def test_a_throttled_delivery_can_still_use_every_attempt() -> None:
    """CASES 6: deferrals between the attempts take none of them away."""
    delivery, now_ms, made, random = a_delivery(), NOW_MS, 0, seeded(6)
    while True:
        if random.random() < 0.7:
            hop = decided(delivery, Deferred(reason="busy"), now_ms=now_ms)
        else:
            made += 1
            hop = decided(delivery, Failed(error="down"), now_ms=now_ms)
        if isinstance(hop, DeadLetter):
            break
        delivery, now_ms = over_the_wire(retried(hop).delivery), retried(hop).due_at_ms
    assert made == 8
