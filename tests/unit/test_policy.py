"""The retry policy: from an outcome to the next hop, within two budgets that travel in the record."""

from datetime import timedelta
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.dispatch.unknown_target import UnknownTarget
from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, Done, Retry
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
from streams.retry.policy import ExponentialBackoff, RetryPolicy
from tests.support.chance import seeded
from tests.support.decisions import buried, decided, over_the_wire, retried, wait_ms
from tests.support.deliveries import (
    ENDPOINT_POLICY,
    ENDPOINT_SCHEDULE,
    HANDLER_POLICY,
    NOW_MS,
    a_delivery,
)

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
