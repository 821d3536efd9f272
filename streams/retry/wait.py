"""A wait: which lane a delivery waits in, until when, and whether it needs laps.

Used by the policy when a delivery is parked, and by the scheduler when a lap ends before the wait does.
"""

from collections.abc import Callable
from dataclasses import dataclass

from streams.retry.tiers import Lane, RetryTiers

__all__ = ["Wait", "wait_about", "wait_at_least", "wait_until", "wait_within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A place in a lane. `due_at_ms` is exactly one hold from now, so the lane stays in due order."""

    lane: Lane
    due_at_ms: int
    not_before_ms: int | None = None


def wait_about(delay_ms: int, *, now_ms: int, tiers: RetryTiers, random: Callable[[], float]) -> Wait:
    """Wait a jittered delay: within (delay/2, delay] where a lane is that long, in laps beyond."""
    if delay_ms <= tiers.longest_ms:
        lane = tiers.jittered(delay_ms, random=random)
        return Wait(lane=lane, due_at_ms=now_ms + lane.hold_ms)
    until_ms = now_ms + round(delay_ms * (1.0 - random() / 2))
    return wait_until(until_ms, now_ms=now_ms, tiers=tiers, random=random)


def wait_at_least(wait_ms: int, *, now_ms: int, tiers: RetryTiers, random: Callable[[], float]) -> Wait:
    """Wait no less than this: what a `Retry-After` asks for. Jitter never goes below the hint (svix #2199)."""
    return wait_until(now_ms + wait_ms, now_ms=now_ms, tiers=tiers, random=random)


def wait_within(wait_ms: int, *, now_ms: int, tiers: RetryTiers) -> Wait:
    """Wait no longer than this, and about as long: who comes too early waits the rest. The shortest lane at least.

    So what is booked for hours ahead is looked at again in the longest tier's time, and feels a limit that was raised.
    """
    lane = tiers.at_most(wait_ms)
    return Wait(lane=lane, due_at_ms=now_ms + lane.hold_ms)


def wait_until(until_ms: int, *, now_ms: int, tiers: RetryTiers, random: Callable[[], float]) -> Wait:
    """Wait until a moment: in the shortest lane that holds long enough, or a lap in the longest tier."""
    left_ms = max(until_ms - now_ms, 0)
    if left_ms > tiers.longest_ms:
        lane = tiers.lap(random=random)
        return Wait(lane=lane, due_at_ms=now_ms + lane.hold_ms, not_before_ms=until_ms)
    lane = tiers.at_least(left_ms)
    return Wait(lane=lane, due_at_ms=now_ms + lane.hold_ms)
