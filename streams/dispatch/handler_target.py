"""A handler as a target: one attempt is one call, with the handler's own timeout.

What an unexpected exception says may hold a payload, so only its type and place are recorded (INV-9). What
`PermanentError` and `TemporaryError` say was written for the record, and is kept.
"""

import asyncio
from datetime import timedelta
from pathlib import PurePath

from outbox.errors import PermanentError, TemporaryError
from outbox.handlers import Handler
from streams.dispatch.handler_calls import Call, HandlerCalls, Raised
from streams.dispatch.target import OpenGate
from streams.records.delivery import Delivery
from streams.records.outcome import Deferred, ErrorCode, Failed, Outcome, Rejected, Succeeded
from streams.records.target import TargetName
from streams.retry.policy import RetryPolicy

__all__ = ["HandlerTarget"]


class HandlerTarget:
    """One registered handler."""

    __slots__ = ("_abandoned", "_calls", "concurrency", "gate", "handler", "limited", "name", "policy")

    def __init__(self, handler: Handler, *, calls: HandlerCalls, policy: RetryPolicy) -> None:
        self.handler = handler
        self.name = TargetName("handler", handler.name)
        self.concurrency = handler.concurrency
        self.limited = False
        self.gate = OpenGate()
        self.policy = policy
        self._calls = calls
        self._abandoned = 0

    async def attempt(self, delivery: Delivery) -> Outcome:
        """Call the handler. A call that outlives its timeout is abandoned, and counted until it ends."""
        if self._abandoned >= self.concurrency:
            return Deferred(
                reason=f"{self._abandoned} earlier calls of this handler hang beyond their timeout"
            )
        timeout_s = self.handler.timeout.total_seconds()
        call = self._calls.start(self.handler, delivery.event)
        waiter = asyncio.wrap_future(call.ended)
        try:
            done, _ = await asyncio.wait((waiter,), timeout=timeout_s)
        except asyncio.CancelledError:
            if call.ended.done():
                return _outcome(call.ended.result())  # answered as it was cut off
            self._abandon(call)
            raise
        if not done:
            self._abandon(call)
            return Failed(error=f"no answer within {timeout_s:g} s")
        return _outcome(waiter.result())

    def _abandon(self, call: Call) -> None:
        loop = asyncio.get_running_loop()
        self._abandoned += 1
        call.ended.add_done_callback(lambda _: loop.call_soon_threadsafe(self._ended))
        call.cancel()

    def _ended(self) -> None:
        self._abandoned -= 1


def _outcome(raised: Raised | None) -> Outcome:
    if raised is None:
        return Succeeded()
    match raised.exception:
        case PermanentError() as error:
            return Rejected(code=ErrorCode.HANDLER_PERMANENT_FAILURE, error=_said(error))
        case TemporaryError() as error:
            return Failed(error=_said(error), retry_after=_asked(error))
        case exception:
            return Failed(error=_where(exception))


def _asked(error: TemporaryError) -> timedelta | None:
    """A subclass may have set anything, or nothing."""
    retry_after = getattr(error, "retry_after", None)
    return retry_after if isinstance(retry_after, timedelta) else None


def _said(error: Exception) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - a subclass's __str__ is the handler's code too
        return f"{name}, whose text can't be made"
    return f"{name}: {text}" if text else name


def _where(exception: BaseException) -> str:
    name, trace = type(exception).__name__, exception.__traceback__
    if trace is None:
        return name
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{name} at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
