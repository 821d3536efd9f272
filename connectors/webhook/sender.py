"""The sender: one signed POST, and what came of it.

Place in the data's way: called by the dispatcher for each attempt at an endpoint. Invariants: what happens on
the network is an `answer.Answer`, never an exception; every call ends within `Limits.total`; cancelling one
closes its connection; the bytes signed are the bytes sent (INV-5). It must not retry an attempt, limit how
many run, or follow a redirect.

One thing looks like a retry and is none. A receiver may close an idle connection at the moment in which it is
used again; then no byte of an answer comes, and the same bytes go out once more, on a fresh connection,
within the same attempt (CASES 23). The receiver could have acted on the first ones: the request has the same
`webhook-id` and `idempotency-key`, which is what a receiver of webhooks deduplicates by in any case (RFC
9110, 9.2.2, allows it where the client knows that). On a fresh connection a loss is an answer like any other.
"""

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import version
from types import TracebackType
from typing import Self

from connectors.webhook.answer import Answer, NoAnswer, NoAnswerReason, Responded, Stage
from connectors.webhook.connection import Connection
from connectors.webhook.dial import AddressJudge, Dialler, allow_every_address
from connectors.webhook.errors import RequestInvalidError
from connectors.webhook.limits import Limits
from connectors.webhook.names import Names, Resolver, system_resolver
from connectors.webhook.pool import Pool
from connectors.webhook.reply import Failure, Reply
from connectors.webhook.request import Request
from connectors.webhook.url import Origin
from connectors.webhook.wire import encode_request

__all__ = ["Sender"]

_DISTRIBUTION = "outbox-streams"


class Sender:
    """Sends webhooks over kept HTTP/1.1 connections. One for each event loop; made and used in it.

    Args:
        limits: the bounds.
        judge_address: asked before every connect; says why an address may not be dialled.
        tls: the one TLS context of this sender; by default the system's trusted roots and TLS 1.2 or newer.
        resolve: looks a name up.
        monotonic: the clock that durations and the memory of names are measured by, in seconds.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        judge_address: AddressJudge = allow_every_address,
        tls: ssl.SSLContext | None = None,
        resolve: Resolver = system_resolver,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        limits = limits or Limits()
        self._monotonic = monotonic
        self._first_byte_s = limits.first_byte.total_seconds()
        self._total_s = limits.total.total_seconds()
        self._names = Names(resolve=resolve, ttl=limits.name_ttl, limit=limits.names, monotonic=monotonic)
        # One context for all: a context for each connection leaked in others' senders (CASES 24).
        self._dialler = Dialler(
            names=self._names, judge_address=judge_address, tls=tls or _client_tls(), limits=limits
        )
        self._pool = Pool(limits)
        self._user_agent = f"{_DISTRIBUTION}/{version(_DISTRIBUTION)}"
        self._is_closed = False

    @property
    def open_connections(self) -> int:
        """How many connections are open, in use or idle."""
        return self._pool.open_count

    async def send(self, request: Request) -> Answer:
        """Send one attempt and give its answer.

        Raises:
            SecretLockedError: nothing was sent: a secret of the endpoint is sealed, and can't be opened here.
        """
        started_s = self._monotonic()
        if self._is_closed:
            return self._no_answer(_closed(Stage.REQUEST), started_s)
        try:
            message = encode_request(request, user_agent=self._user_agent)
        except RequestInvalidError as error:
            failure = Failure(NoAnswerReason.REQUEST_INVALID, Stage.REQUEST, str(error))
            return self._no_answer(failure, started_s)
        endpoint = request.endpoint
        total_s = self._total_s
        if endpoint.timeout is not None:
            total_s = min(total_s, endpoint.timeout.total_seconds())
        dialled, outcome = await self._exchange(endpoint.target.origin, message, total_s=total_s)
        if isinstance(outcome, Failure):
            return self._no_answer(outcome, started_s)
        return Responded(
            status=outcome.status,
            retry_after=outcome.retry_after,
            location=outcome.location,
            excerpt=outcome.excerpt,
            is_excerpt_whole=outcome.is_excerpt_whole,
            dialled=dialled,
            duration=self._since(started_s),
        )

    async def close(self) -> None:
        """Close every connection. What is still being sent ends as not answered. May be called again."""
        self._is_closed = True
        await self._names.close()
        await self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _exchange(
        self, origin: Origin, message: bytes, *, total_s: float
    ) -> tuple[str, Reply | Failure]:
        total_at = asyncio.get_running_loop().time() + total_s
        kept = self._pool.take(origin)
        if kept is not None:
            outcome = await self._exchange_on(kept, message, total_at=total_at)
            if isinstance(outcome, Reply) or not outcome.is_unanswered_loss:
                return kept.dialled, outcome
        fresh = await self._dial(origin, total_at=total_at)
        if isinstance(fresh, Failure):
            return "", fresh
        return fresh.dialled, await self._exchange_on(fresh, message, total_at=total_at)

    async def _dial(self, origin: Origin, *, total_at: float) -> Connection | Failure:
        fresh = await self._dialler.dial(origin, total_at=total_at)
        if isinstance(fresh, Connection):
            self._pool.add(origin, fresh)
            if self._is_closed:
                fresh.abort()
                return _closed(Stage.CONNECT)
        return fresh

    async def _exchange_on(
        self, connection: Connection, message: bytes, *, total_at: float
    ) -> Reply | Failure:
        first_byte_at = asyncio.get_running_loop().time() + self._first_byte_s
        outcome = await connection.exchange(message, first_byte_at=first_byte_at, total_at=total_at)
        self._pool.give_back(connection)
        if isinstance(outcome, Failure):
            return replace(outcome, detail=f"{connection.dialled}: {outcome.detail}")
        return outcome

    def _no_answer(self, failure: Failure, started_s: float) -> NoAnswer:
        if self._is_closed:
            # Whatever it looked like from inside, it says nothing about the receiver.
            failure = _closed(failure.stage)
        return NoAnswer(
            reason=failure.reason,
            stage=failure.stage,
            detail=failure.detail,
            duration=self._since(started_s),
        )

    def _since(self, started_s: float) -> timedelta:
        return timedelta(seconds=self._monotonic() - started_s)


def _closed(stage: Stage) -> Failure:
    return Failure(NoAnswerReason.SENDER_CLOSED, stage, "the sender was closed meanwhile")


def _client_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    context.set_alpn_protocols(["http/1.1"])
    return context
