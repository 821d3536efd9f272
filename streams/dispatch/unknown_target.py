"""The target of a parked delivery that this worker doesn't know (any more).

An endpoint that is gone was deleted: its deliveries are cancelled (formance #159 looped them for ever). A
handler that is gone is a deployment's doing, and an operator's matter: its deliveries become dead letters,
to be redriven when it is back.
"""

from dataclasses import dataclass
from datetime import timedelta

from streams.dispatch.target import OpenGate
from streams.records.delivery import Delivery
from streams.records.outcome import Cancelled, ErrorCode, Outcome, Rejected
from streams.records.target import TargetName
from streams.retry.policy import RetryPolicy, ScheduledBackoff

__all__ = ["UnknownTarget"]

_ONE_ANSWER = RetryPolicy(
    max_attempts=1,
    max_age=timedelta(days=1),
    backoff=ScheduledBackoff(delays=(timedelta(seconds=1),)),
    exhausted_code=ErrorCode.HANDLER_NOT_REGISTERED,
)
_ANY_TIME = OpenGate()


@dataclass(frozen=True, slots=True)
class UnknownTarget:
    """Stands in where the directory has no target of that name."""

    name: TargetName
    concurrency: int = 1
    limited: bool = False
    gate: OpenGate = _ANY_TIME
    policy: RetryPolicy = _ONE_ANSWER

    async def attempt(self, delivery: Delivery) -> Outcome:
        """No attempt is possible: cancelled for an endpoint, rejected for a handler."""
        name = delivery.target.name
        if self.name.kind == "endpoint":
            return Cancelled(reason=f"endpoint {name} was deleted")
        return Rejected(
            code=ErrorCode.HANDLER_NOT_REGISTERED, error=f"this worker has no handler named {name}"
        )
