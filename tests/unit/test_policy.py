"""The retry policy: from an outcome to the next hop, within two budgets that travel in the record."""

from dataclasses import replace
from datetime import timedelta
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.unknown_target import UnknownTarget
from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, Done, NextHop, Retry
from streams.records.outcome import (
    Cancelled,
    Deferred,
    ErrorCode,
    Failed,
    Interrupted,
    Outcome,
    Rejected,
    Succeeded,
)
from streams.records.target import TargetName
from streams.records.wire import decode_delivery, encode_delivery, header_map
from streams.retry.policy import ExponentialBackoff, RetryPolicy, decide
from tests.support.chance import seeded
from tests.support.deliveries import (
    ENDPOINT_POLICY,
    ENDPOINT_SCHEDULE,
    HANDLER_POLICY,
    NOW_MS,
    a_delivery,
    default_tiers,
)

TIERS = default_tiers()
#: No backoff goes through more than one lane's rounding up.
STEP_MS = 75_000

chances = st.floats(0, 1, exclude_max=True)
outcomes = st.one_of(
    st.just(Succeeded()),
    st.builds(
        Failed,
        error=st.text(max_size=20),
        retry_after=st.none() | st.timedeltas(timedelta(0), timedelta(days=400_000)),
    ),
    st.builds(Rejected, code=st.just(ErrorCode.ENDPOINT_GONE), error=st.text(max_size=20)),
    st.just(Interrupted()),
    st.builds(
        Deferred,
        reason=st.text(max_size=20),
        retry_after=st.none() | st.timedeltas(timedelta(0), timedelta(days=10_000)),
        booked_in=st.none() | st.timedeltas(timedelta(0), timedelta(days=10_000)),
    ),
    st.builds(Cancelled, reason=st.text(max_size=20)),
)


def decided(
    delivery: Delivery,
    outcome: Outcome,
    *,
    policy: RetryPolicy = HANDLER_POLICY,
    now_ms: int = NOW_MS,
    chance: float = 0.5,
) -> NextHop:
    return decide(delivery, outcome, policy=policy, tiers=TIERS, now_ms=now_ms, random=lambda: chance)


def retried(hop: NextHop) -> Retry:
    assert isinstance(hop, Retry)
    return hop


def buried(hop: NextHop) -> DeadLetter:
    assert isinstance(hop, DeadLetter)
    return hop


def wait_ms(hop: Retry, *, now_ms: int = NOW_MS) -> int:
    return (hop.not_before_ms or hop.due_at_ms) - now_ms


def over_the_wire(delivery: Delivery) -> Delivery:
    """What another process reads of a delivery."""
    event = delivery.event
    headers = header_map(encode_delivery(delivery))
    return decode_delivery(headers, key=event.aggregate_id.encode(), value=event.payload)


@given(attempt=st.integers(1, 7), chance=chances)
def test_a_handlers_backoff_doubles_and_is_jittered(attempt: int, chance: float) -> None:
    """The polling worker's rule: min(base·2^(n−1), cap) times a jitter in (0.5, 1]."""
    hop = retried(decided(a_delivery(attempt=attempt), Failed(error="down"), chance=chance))
    delay_ms = min(1_000 * 2 ** (attempt - 1), 900_000)
    assert delay_ms / 2 < wait_ms(hop) <= delay_ms


@given(attempt=st.integers(1, 10**15), base_ms=st.integers(1, 3_600_000), cap_ms=st.integers(1, 86_400_000))
def test_backoff_never_exceeds_its_cap(attempt: int, base_ms: int, cap_ms: int) -> None:
    """Also for a forged attempt count of any size."""
    backoff = ExponentialBackoff(base=timedelta(milliseconds=base_ms), cap=timedelta(milliseconds=cap_ms))
    assert 0 < backoff.after(attempt) <= cap_ms


@given(attempt=st.integers(1, len(ENDPOINT_SCHEDULE)), chance=chances)
def test_an_endpoints_backoff_follows_the_schedule(attempt: int, chance: float) -> None:
    """The Standard Webhooks schedule, 5 s to 24 h, jittered the same way; long waits in laps."""
    delivery = a_delivery(attempt=attempt)
    hop = retried(decided(delivery, Failed(error="503"), policy=ENDPOINT_POLICY, chance=chance))
    delay_ms = ENDPOINT_SCHEDULE[attempt - 1] // timedelta(milliseconds=1)
    assert delay_ms / 2 <= wait_ms(hop) <= delay_ms


@pytest.mark.parametrize("attempts", [1, 2, 8, 10, 50])
def test_n_attempts_are_exactly_n(attempts: int) -> None:
    """CASES 5: a delivery that always fails is tried as often as configured, and then is a dead letter."""
    policy = RetryPolicy(
        max_attempts=attempts,
        max_age=timedelta(days=365),
        backoff=HANDLER_POLICY.backoff,
        exhausted_code=HANDLER_POLICY.exhausted_code,
    )
    delivery, now_ms, made = a_delivery(), NOW_MS, 0
    while True:
        made += 1
        assert delivery.attempt == made
        hop = decided(delivery, Failed(error="down"), policy=policy, now_ms=now_ms)
        if isinstance(hop, DeadLetter):
            break
        now_ms = retried(hop).due_at_ms
        delivery = over_the_wire(retried(hop).delivery)
    assert made == attempts
    assert hop.code == ErrorCode.HANDLER_TEMPORARY_FAILURE
    assert hop.delivery.attempt == attempts


def test_the_whole_default_schedule_fits_into_the_age() -> None:
    """CASES 5: with the defaults, an endpoint gets all of its attempts; the age does not cut the schedule short."""
    delivery, now_ms, made = a_delivery(), NOW_MS, 1
    while isinstance(
        hop := decided(delivery, Failed(error="503"), policy=ENDPOINT_POLICY, now_ms=now_ms, chance=0.0),
        Retry,
    ):
        made += 1
        now_ms, delivery = (hop.not_before_ms or hop.due_at_ms) + STEP_MS, hop.delivery
    assert made == len(ENDPOINT_SCHEDULE) + 1
    assert buried(hop).error.startswith("all 10 attempts used")


@pytest.mark.parametrize(
    ("policy", "code"),
    [(HANDLER_POLICY, "HANDLER_TEMPORARY_FAILURE"), (ENDPOINT_POLICY, "ENDPOINT_EXHAUSTED")],
    ids=["handler", "endpoint"],
)
@pytest.mark.parametrize("last", [Failed(error="down"), Interrupted()], ids=["failed", "interrupted"])
def test_used_up_attempts_name_the_kind_of_target(policy: RetryPolicy, code: str, last: Outcome) -> None:
    """CASES 17: an exhausted delivery is told apart from a rejected or a malformed one, and handlers from endpoints."""
    hop = buried(decided(a_delivery(attempt=policy.max_attempts), last, policy=policy))
    assert hop.code == code
    assert hop.error.startswith(f"all {policy.max_attempts} attempts used: ")


def test_a_rejection_ends_at_once_with_its_own_code() -> None:
    """CASES 1: what can never succeed is not tried again, on the first attempt as on any other."""
    hop = buried(decided(a_delivery(), Rejected(code=ErrorCode.ENDPOINT_GONE, error="answered 410 Gone")))
    assert (hop.code, hop.error) == ("ENDPOINT_GONE", "answered 410 Gone")


@pytest.mark.parametrize(
    "outcome", [Succeeded(), Cancelled(reason="deleted")], ids=["succeeded", "cancelled"]
)
def test_success_and_cancellation_end_a_delivery_without_a_dead_letter(outcome: Outcome) -> None:
    """CASES 2: what a deleted endpoint had waiting is done, and does not loop."""
    assert decided(a_delivery(), outcome) == Done()


def test_an_interrupted_attempt_counts() -> None:
    """INV-8: it may have reached the target, so it is an attempt; otherwise every deployment would add one."""
    hop = retried(decided(a_delivery(attempt=3), Interrupted()))
    assert (hop.delivery.attempt, hop.delivery.deferrals) == (4, 0)


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


def test_age_ends_what_attempts_would_not() -> None:
    """CASES 1: attempts and age are capped, whichever ends first, and the dead letter says which."""
    delivery = a_delivery(attempt=2, first_failed_at_ms=NOW_MS - 24 * 3_600_000 + 500)
    hop = buried(decided(delivery, Failed(error="down")))
    assert hop.error == "older than 1 day, 0:00:00: down"


@given(hint_ms=st.integers(0, 80_000_000), attempt=st.integers(1, 7), chance=chances)
def test_retry_after_is_never_undercut(hint_ms: int, attempt: int, chance: float) -> None:
    """CASES 8: the wait is at least the hint and at least half the backoff; jitter goes below neither."""
    failed = Failed(error="429", retry_after=timedelta(milliseconds=hint_ms))
    hop = retried(decided(a_delivery(attempt=attempt), failed, chance=chance))
    assert wait_ms(hop) >= hint_ms
    assert wait_ms(hop) > 1_000 * 2 ** (attempt - 1) / 2
    assert wait_ms(hop) <= max(hint_ms + STEP_MS, 1_000 * 2 ** (attempt - 1))


@given(
    delivery=st.builds(a_delivery, attempt=st.integers(1, 10**17), deferrals=st.integers(0, 10**17)),
    data=st.data(),
)
def test_no_outcome_makes_it_raise(delivery: Delivery, data: st.DataObject) -> None:
    """Whatever comes of a turn has a next hop, for counts of any size and hints of any length."""
    policy = data.draw(
        st.sampled_from([HANDLER_POLICY, ENDPOINT_POLICY, UnknownTarget(TargetName("handler", "h")).policy])
    )
    hop = decided(delivery, data.draw(outcomes), policy=policy, chance=data.draw(chances))
    match hop:
        case Done():
            pass
        case DeadLetter():
            assert hop.delivery.event == delivery.event
        case Retry():
            assert hop.delivery.event == delivery.event
            assert hop.due_at_ms > NOW_MS
        case _:
            assert_never(hop)


@given(turns=st.lists(outcomes, max_size=30), seed=st.integers(0, 2**32))
def test_the_counts_live_in_the_record(turns: list[Outcome], seed: int) -> None:
    """INV-7: decided from the record alone, hop by hop, a delivery ends as it does in one process's memory."""
    random = seeded(seed).random
    kept = carried = a_delivery()
    now_ms = NOW_MS
    for outcome in turns:
        chance = random()
        in_memory = decided(kept, outcome, policy=ENDPOINT_POLICY, now_ms=now_ms, chance=chance)
        from_record = decided(
            over_the_wire(carried), outcome, policy=ENDPOINT_POLICY, now_ms=now_ms, chance=chance
        )
        assert in_memory == from_record
        if not isinstance(in_memory, Retry) or not isinstance(from_record, Retry):
            break
        kept, carried = in_memory.delivery, from_record.delivery
        now_ms = in_memory.not_before_ms or in_memory.due_at_ms
