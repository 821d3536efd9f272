"""The retry policy: from a delivery and its outcome to the next hop. Pure; the one place where this is decided.

Two budgets, attempts and age, whichever ends first. An answered or interrupted attempt costs one attempt; a
deferral costs none, and only age ends it (convoy #676, #1927). What the flood guard holds is a deferral that age does
not end: a limit of its own does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import assert_never

from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, Done, NextHop, Retry
from streams.records.outcome import Cancelled, Deferred, Failed, Interrupted, Outcome, Rejected, Succeeded
from streams.retry.tiers import RetryTiers
from streams.retry.wait import Wait, wait_about, wait_at_least, wait_within

__all__ = ["ExponentialBackoff", "RetryPolicy", "ScheduledBackoff", "decide", "hold"]

_DEFERRAL_BASE_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialBackoff:
    """min(base·2^(n−1), cap) after the n-th attempt; the jitter lives in the lane.

    >>> ExponentialBackoff(base=timedelta(seconds=1), cap=timedelta(minutes=15)).after(4)
    8000
    """

    base: timedelta
    cap: timedelta

    def after(self, attempt: int) -> int:
        """The delay in milliseconds after this many attempts."""
        # 2^40 seconds is far beyond any cap; the bound keeps a forged attempt count from building a huge integer.
        doubled_ms: int = _ms(self.base) << min(attempt - 1, 40)
        return min(doubled_ms, _ms(self.cap))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledBackoff:
    """A list of delays, as Standard Webhooks recommends; the last one serves any further attempt.

    >>> ScheduledBackoff(delays=(timedelta(seconds=5), timedelta(minutes=5))).after(2)
    300000
    """

    delays: tuple[timedelta, ...]

    def after(self, attempt: int) -> int:
        """The delay in milliseconds after this many attempts."""
        return _ms(self.delays[min(attempt, len(self.delays)) - 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """What a kind of target is given: attempts, age, backoff, and the code of a delivery that used them up."""

    max_attempts: int
    max_age: timedelta
    backoff: ExponentialBackoff | ScheduledBackoff
    exhausted_code: str


def decide(
    delivery: Delivery,
    outcome: Outcome,
    *,
    policy: RetryPolicy,
    tiers: RetryTiers,
    now_ms: int,
    random: Callable[[], float],
) -> NextHop:
    """Where this delivery goes now. Never raises, whatever the outcome says."""
    match outcome:
        case Succeeded() | Cancelled():
            return Done()
        case Rejected(code=code, error=error):
            return DeadLetter(delivery=delivery, code=code, error=error)
        case Failed(error=error, retry_after=hint):
            return _retry(
                delivery, error, hint=hint, policy=policy, tiers=tiers, now_ms=now_ms, random=random
            )
        case Interrupted(error=error):
            return _retry(
                delivery, error, hint=None, policy=policy, tiers=tiers, now_ms=now_ms, random=random
            )
        case Deferred(reason=reason, retry_after=timedelta() as wait, booked_in=timedelta() as booked_in):
            booked = _deferred(delivery, now_ms=now_ms, booked_for_ms=now_ms + _ms(booked_in))
            return _park(booked, wait_within(_ms(wait), now_ms=now_ms, tiers=tiers), reason, policy=policy)
        case Deferred(reason=reason, retry_after=hint):
            return _defer(
                delivery, reason, hint=hint, policy=policy, tiers=tiers, now_ms=now_ms, random=random
            )
        case _:
            assert_never(outcome)


def hold(
    dead: DeadLetter,
    *,
    at_least: timedelta,
    tiers: RetryTiers,
    now_ms: int,
    random: Callable[[], float],
) -> Retry:
    """A wait instead of a burial, at no attempt: about as long as all before it, and no less than this.

    No age ends it.
    """
    delivery = dead.delivery
    delay_ms = max(_doubled_ms(delivery, tiers=tiers), 2 * _ms(at_least))
    held_since_ms = now_ms if delivery.held_since_ms is None else delivery.held_since_ms
    held = replace(_deferred(delivery, now_ms=now_ms, booked_for_ms=None), held_since_ms=held_since_ms)
    wait = wait_about(delay_ms, now_ms=now_ms, tiers=tiers, random=random)
    return _waiting(held, wait, f"held while much dies at once; it would be {dead.code}: {dead.error}")


def _retry(
    delivery: Delivery,
    error: str,
    *,
    hint: timedelta | None,
    policy: RetryPolicy,
    tiers: RetryTiers,
    now_ms: int,
    random: Callable[[], float],
) -> NextHop:
    if delivery.attempt >= policy.max_attempts:
        return DeadLetter(
            delivery=delivery,
            code=policy.exhausted_code,
            error=f"all {policy.max_attempts} attempts used: {error}",
        )
    wait = wait_about(policy.backoff.after(delivery.attempt), now_ms=now_ms, tiers=tiers, random=random)
    if hint is not None and now_ms + _ms(hint) > (wait.not_before_ms or wait.due_at_ms):
        wait = wait_at_least(_ms(hint), now_ms=now_ms, tiers=tiers, random=random)
    tried = replace(
        delivery,
        attempt=delivery.attempt + 1,
        first_failed_at_ms=_first_failed(delivery, now_ms=now_ms),
        booked_for_ms=None,
    )
    return _park(tried, wait, error, policy=policy)


def _defer(
    delivery: Delivery,
    reason: str,
    *,
    hint: timedelta | None,
    policy: RetryPolicy,
    tiers: RetryTiers,
    now_ms: int,
    random: Callable[[], float],
) -> NextHop:
    """Each wait is about as long as all before it: what has waited for long may wait on, and costs little meanwhile.

    The jitter lies beyond the hint: who came before would only be deferred again.
    """
    hint_ms = _ms(hint) if hint else 0
    delay_ms = max(_doubled_ms(delivery, tiers=tiers), 2 * hint_ms)
    wait = wait_about(delay_ms, now_ms=now_ms, tiers=tiers, random=random)
    left_ms = _first_failed(delivery, now_ms=now_ms) + _ms(policy.max_age) - now_ms
    if hint_ms and hint_ms <= left_ms < (wait.not_before_ms or wait.due_at_ms) - now_ms:
        # The jitter must not end it: who would be back in time by the hint has a last turn.
        wait = wait_within(left_ms, now_ms=now_ms, tiers=tiers)
    return _park(_deferred(delivery, now_ms=now_ms, booked_for_ms=None), wait, reason, policy=policy)


def _doubled_ms(delivery: Delivery, *, tiers: RetryTiers) -> int:
    doubled_ms: int = _DEFERRAL_BASE_MS << min(delivery.deferrals, 30)
    return min(doubled_ms, tiers.longest_ms)


def _deferred(delivery: Delivery, *, now_ms: int, booked_for_ms: int | None) -> Delivery:
    return replace(
        delivery,
        deferrals=delivery.deferrals + 1,
        first_failed_at_ms=_first_failed(delivery, now_ms=now_ms),
        booked_for_ms=booked_for_ms,
    )


def _park(delivery: Delivery, wait: Wait, error: str, *, policy: RetryPolicy) -> NextHop:
    """Park it, unless its turn would come after its age has ended: then it has had its last."""
    assert delivery.first_failed_at_ms is not None  # noqa: S101 - both callers set it a line above
    expires_at_ms = delivery.first_failed_at_ms + _ms(policy.max_age)
    if (wait.not_before_ms or wait.due_at_ms) > expires_at_ms:
        return DeadLetter(
            delivery=replace(delivery, booked_for_ms=None),
            code=policy.exhausted_code,
            error=f"older than {policy.max_age}: {error}",
        )
    return _waiting(delivery, wait, error)


def _waiting(delivery: Delivery, wait: Wait, error: str) -> Retry:
    return Retry(
        delivery=delivery,
        topic=wait.lane.topic,
        partition=wait.lane.partition,
        due_at_ms=wait.due_at_ms,
        not_before_ms=wait.not_before_ms,
        error=error,
    )


def _first_failed(delivery: Delivery, *, now_ms: int) -> int:
    return now_ms if delivery.first_failed_at_ms is None else delivery.first_failed_at_ms


def _ms(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)
