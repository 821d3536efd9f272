"""An endpoint as a target: one attempt is one signed POST, judged by the one table in `connectors.webhook.verdict`."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol, assert_never

import structlog

from connectors.webhook.answer import Answer, Responded
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import SecretLockedError
from connectors.webhook.request import Request
from connectors.webhook.verdict import Accepted, Refused, TryLater, judge
from streams.dispatch.circuit import Circuit
from streams.dispatch.endpoint_gate import EndpointGate
from streams.dispatch.rate_limit import RateLimit
from streams.dispatch.share import WHOLE, Share
from streams.records.delivery import Delivery
from streams.records.outcome import Cancelled, Deferred, Failed, Outcome, Rejected, Succeeded
from streams.records.target import TargetName
from streams.retry.policy import RetryPolicy, ScheduledBackoff

__all__ = ["EndpointTarget", "Sends"]

_log = structlog.get_logger("streams.dispatch")


class Sends(Protocol):
    """What this needs of a sender."""

    async def send(self, request: Request) -> Answer:
        """Make one request and return what came of it; expected failures are answers."""
        ...


class EndpointTarget:
    """One endpoint. `endpoint` is what the feed last said of it: None once it is deleted.

    Its retry policy and its concurrency are the worker's, but for what the endpoint has of its own; of that concurrency
    and of its rate limit, this worker has its share.
    """

    __slots__ = (
        "_circuit",
        "_default_concurrency",
        "_default_policy",
        "_limit",
        "_monotonic_s",
        "_now",
        "_sender",
        "_share",
        "concurrency",
        "endpoint",
        "gate",
        "limited",
        "name",
        "policy",
    )

    def __init__(
        self,
        endpoint_id: str,
        *,
        sender: Sends,
        policy: RetryPolicy,
        concurrency: int,
        now: Callable[[], datetime],
        monotonic_s: Callable[[], float],
        share: Share = WHOLE,
    ) -> None:
        self.name = TargetName("endpoint", endpoint_id)
        self.endpoint: Endpoint | None = None
        self._default_policy = policy
        self.policy = policy
        self._default_concurrency = concurrency
        self.concurrency = concurrency
        self.limited = False
        self._circuit = Circuit(on_change=self._tell)
        self._limit: RateLimit | None = None
        self.gate = EndpointGate(self._circuit)
        self._share = share
        self._sender = sender
        self._now = now
        self._monotonic_s = monotonic_s

    def change(self, endpoint: Endpoint) -> None:
        """It was created or changed. Another URL, or an endpoint enabled again, is worth trying at once."""
        before, self.endpoint = self.endpoint, endpoint
        self.policy = _policy(endpoint, self._default_policy)
        if before is not None and (before.url, before.enabled) != (endpoint.url, endpoint.enabled):
            self._circuit = Circuit(on_change=self._tell)
        self._set_limits(endpoint)

    def set_share(self, share: Share) -> None:
        """This worker's share of the work has changed, and so its part of the limits."""
        self._share = share
        if self._limit is not None or self.limited:
            assert self.endpoint is not None  # noqa: S101 - the limits are its own
            self._set_limits(self.endpoint)

    def _set_limits(self, endpoint: Endpoint) -> None:
        """What runs is left alone; what begins from now on obeys."""
        self.limited = endpoint.concurrency is not None
        self.concurrency = (
            self._default_concurrency
            if endpoint.concurrency is None
            else self._share.of_concurrency(endpoint.concurrency)
        )
        if endpoint.rate_limit_per_s is None:
            self._limit = None
        else:
            per_s = self._share.of_rate(endpoint.rate_limit_per_s)
            if self._limit is None:
                self._limit = RateLimit(per_s, now_s=self._monotonic_s())
            else:
                self._limit.change(per_s, now_s=self._monotonic_s())
        self.gate = EndpointGate(self._circuit, self._limit)

    async def attempt(self, delivery: Delivery) -> Outcome:
        """Send the event to the endpoint as it is now. The webhook id is the event's id on every attempt (INV-4)."""
        endpoint = self.endpoint
        if endpoint is None:
            return Cancelled(reason="the endpoint was deleted")
        if not endpoint.enabled:
            return Deferred(reason="the endpoint is disabled")
        event = delivery.event
        try:
            static = {name: value.reveal() for name, value in endpoint.headers}
            replay = {} if delivery.replay_id is None else {"webhook-replay": delivery.replay_id}
            answer = await self._sender.send(
                Request(
                    endpoint=endpoint,
                    message_id=str(event.id),
                    timestamp=self._now(),
                    body=event.payload,
                    content_type=event.content_type,
                    headers={**event.headers, **static, "webhook-event-type": event.type, **replay},
                )
            )
        except SecretLockedError as error:
            # It says something of this worker's settings and nothing of the endpoint: no attempt is spent on it.
            return Deferred(reason=str(error))
        return _outcome(answer, now=self._now())

    def _tell(self, open_for_s: float) -> None:
        if open_for_s:
            _log.warning("circuit_opened", target=str(self.name), for_s=open_for_s)
        else:
            _log.info("circuit_closed", target=str(self.name))


def _policy(endpoint: Endpoint, default: RetryPolicy) -> RetryPolicy:
    own = default if endpoint.max_age is None else replace(default, max_age=endpoint.max_age)
    if endpoint.schedule is None:
        return own
    return replace(
        own, max_attempts=len(endpoint.schedule) + 1, backoff=ScheduledBackoff(delays=endpoint.schedule)
    )


def _outcome(answer: Answer, *, now: datetime) -> Outcome:
    status = answer.status if isinstance(answer, Responded) else None
    match judge(answer, now):
        case Accepted():
            return Succeeded(status=status)
        case Refused(code=code, error=error):
            return Rejected(code=code, error=error, status=status, excerpt=_excerpt(answer))
        case TryLater(error=error, retry_after=retry_after):
            return Failed(error=error, retry_after=retry_after, status=status, excerpt=_excerpt(answer))
        case verdict:
            assert_never(verdict)


def _excerpt(answer: Answer) -> str | None:
    """What the receiver said, for whoever asks why; bounded by the sender, and never the request's own bytes."""
    if isinstance(answer, Responded) and answer.excerpt:
        return answer.excerpt.decode(errors="replace")
    return None
