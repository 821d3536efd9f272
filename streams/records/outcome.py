"""What came of a delivery's turn: an attempt that was answered, or a turn that ended without one.

Targets return outcomes; `streams.retry.policy.decide` alone turns them into the next hop. An expected failure (a 500, a
timeout, a handler's exception) is an outcome, never an exception.
"""

from dataclasses import dataclass
from datetime import timedelta

__all__ = ["Cancelled", "Deferred", "ErrorCode", "Failed", "Interrupted", "Outcome", "Rejected", "Succeeded"]


class ErrorCode:
    """Why a delivery ended in the dead letters. The glossary lists the same names."""

    HANDLER_NOT_REGISTERED = "HANDLER_NOT_REGISTERED"
    HANDLER_PERMANENT_FAILURE = "HANDLER_PERMANENT_FAILURE"
    HANDLER_TEMPORARY_FAILURE = "HANDLER_TEMPORARY_FAILURE"
    ENDPOINT_REJECTED = "ENDPOINT_REJECTED"
    ENDPOINT_GONE = "ENDPOINT_GONE"
    ENDPOINT_BLOCKED = "ENDPOINT_BLOCKED"
    ENDPOINT_EXHAUSTED = "ENDPOINT_EXHAUSTED"
    EVENT_MALFORMED = "EVENT_MALFORMED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The target took the event. `status` is the HTTP status of an endpoint, None for a handler."""

    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The attempt failed in a way that may pass: try again while the budgets last."""

    error: str
    retry_after: timedelta | None = None
    status: int | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The attempt, or the lack of a target, settled it for good: a dead letter with this code."""

    code: str
    error: str
    status: int | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The attempt was cut off by a stop or a rebalance. It may have reached the target, so it counts as one."""

    error: str = "cut off at the drain limit of a stopping or rebalancing worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """No attempt was made.

    The target is too busy, its circuit is open or its rate limit reached, or the worker is stopping. It waits in a
    tier and costs no attempt. `retry_after` is for how long at least an attempt would be deferred again. `booked_in` is
    for when a rate limit has booked its attempt, if one has: then it waits for `retry_after` at most.
    """

    reason: str
    retry_after: timedelta | None = None
    booked_in: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The target no longer exists (a deleted endpoint): nothing to deliver to, nothing to bury (formance #159)."""

    reason: str


Outcome = Succeeded | Failed | Rejected | Interrupted | Deferred | Cancelled
