"""One HTTP/1.1 connection: write a request, wait for its response, within deadlines.

Place in the data's way: made by `dial`, kept by `pool`, used by `sender` for one exchange at a time.
Invariants: every exchange ends, by an answer, a bound, a deadline or the loss of the connection; a connection
whose response was not read to a clean end is never used again; a cancelled exchange closes its connection. It
must not retry, and it must not know what a status means.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from connectors.webhook.answer import NoAnswerReason
from connectors.webhook.limits import Limits
from connectors.webhook.reply import Failure, Reply
from connectors.webhook.response import ResponseReader

__all__ = ["Connection"]

# Loops count in milliseconds: a timer this close to its deadline has reached it.
_TIMER_SLACK_S: Final = 0.001


class Connection(asyncio.Protocol):
    """One connection to a receiver. `dialled` is the address and port it leads to."""

    __slots__ = (
        "_closed",
        "_deadline",
        "_first_byte_at",
        "_loop",
        "_reader",
        "_timer",
        "_timer_at",
        "_total_at",
        "_transport",
        "_waiter",
        "dialled",
        "is_clean",
        "when_lost",
    )

    def __init__(self, *, dialled: str, limits: Limits) -> None:
        self.dialled = dialled
        self.is_clean = True
        """Whether another request may be written: everything so far was read to its end."""
        self.when_lost: Callable[[Connection], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._closed = asyncio.Event()
        self._reader = ResponseReader(limits)
        self._waiter: asyncio.Future[Reply | Failure] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = self._deadline = self._first_byte_at = self._total_at = 0.0

    async def exchange(self, message: bytes, *, first_byte_at: float, total_at: float) -> Reply | Failure:
        """Write a request and wait for its response. Deadlines are in the loop's time.

        Cancelling this closes the connection.
        """
        self._reader.begin()
        self.is_clean = False
        waiter: asyncio.Future[Reply | Failure] = self._loop.create_future()
        self._waiter = waiter
        self._first_byte_at, self._total_at = first_byte_at, total_at
        if self._transport is None:
            self._end_of_stream(None)
        else:
            self._watch(min(first_byte_at, total_at))
            self._transport.write(message)
        try:
            return await waiter
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self._waiter = None

    def close(self) -> None:
        """Close in order. May be called again."""
        self.is_clean = False
        # Once only: after a second close, asyncio's TLS transport (Python 3.11.2) can't be aborted any more.
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        """Close at once, without sending what is still buffered. May be called again."""
        self.is_clean = False
        if self._transport is not None:
            self._transport.abort()

    async def wait_closed(self) -> None:
        """Wait until the socket is closed."""
        await self._closed.wait()

    # What the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass on to the reader what answers a request; anything else ends the connection."""
        if self._waiter is None:
            # Nobody asked: a 408 before a close, or a second response. It would be taken for the next answer.
            self.abort()
            return
        self._deadline = self._total_at
        self._reader.feed(data)
        if self._reader.outcome is not None:
            self._settle(self._reader.outcome)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange under way with what there is."""
        self.is_clean = False
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._end_of_stream(exc)
        self._closed.set()
        if self.when_lost is not None:
            self.when_lost(self)

    # How an exchange ends

    def _end_of_stream(self, error: Exception | None) -> None:
        self._reader.end_of_stream(is_orderly=error is None)
        if self._reader.outcome is not None:
            self._settle(self._reader.outcome)

    def _settle(self, outcome: Reply | Failure) -> None:
        waiter = self._waiter
        if waiter is None:
            return
        if not waiter.done():
            waiter.set_result(outcome)
        transport = self._transport
        # An answer that came before the request was written out: the rest of it must not become the next one.
        is_written = transport is not None and transport.get_write_buffer_size() == 0
        self.is_clean = self._reader.is_reusable and is_written
        if not self.is_clean:
            self.abort()

    # Deadlines. A timer is left running from one exchange to the next and looks at the deadline when it
    # fires: setting and cancelling one for each request would cost more than parsing the answer.

    def _watch(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is None or self._timer_at > deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._set_timer(deadline)

    def _set_timer(self, at: float) -> None:
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() < self._deadline - _TIMER_SLACK_S:
            self._set_timer(self._deadline)
            return
        is_first_byte = not self._reader.has_begun and self._first_byte_at <= self._total_at
        self._reader.cut_off(
            NoAnswerReason.FIRST_BYTE_TIMEOUT if is_first_byte else NoAnswerReason.TOTAL_TIMEOUT,
            "the answer's headers did not end in time"
            if self._reader.has_begun
            else "no answer began in time",
        )
        if self._reader.outcome is not None:
            self._settle(self._reader.outcome)
