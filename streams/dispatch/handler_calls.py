"""Calling handlers where they can't hurt: coroutines on a loop of their own, plain functions each in a thread.

A handler may hang, block its loop, or raise anything (`SystemExit`, `CancelledError`, …). None of it
reaches the agent's loop: whatever a handler raises comes back as a value, and the caller waits with a
timeout of its own.

All coroutines share one loop, because applications share clients and pools between handlers. While a
coroutine blocks that loop, others are started on a spare one, until the first answers again; and on a
further one, if the spare is blocked too. Threads are daemons: a stuck one never holds up a stop.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from inspect import isawaitable
from time import monotonic
from types import CoroutineType
from typing import cast

from outbox.errors import PermanentError
from outbox.event import Event
from outbox.handlers import Handler

__all__ = ["Call", "HandlerCalls", "Raised"]

_BLOCKED_AFTER_S = 1.0


class Raised:
    """What a handler raised, as a value."""

    __slots__ = ("exception",)

    def __init__(self, exception: BaseException) -> None:
        self.exception = exception


class Call:
    """A call that was begun. `ended` resolves when the handler has really ended, not when somebody stops waiting."""

    __slots__ = ("_task_loop", "ended", "task")

    def __init__(self, task_loop: asyncio.AbstractEventLoop | None = None) -> None:
        self.ended: Future[Raised | None] = Future()
        self.ended.set_running_or_notify_cancel()  # so that cancelling a waiter leaves it alone
        self.task: asyncio.Task[None] | None = None
        self._task_loop = task_loop

    def cancel(self) -> None:
        """Ask the handler to end. A thread can't be asked, and a coroutine may decline."""
        if self._task_loop is not None:
            with suppress(RuntimeError):  # the loop is closed, and the call with it
                self._task_loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()


class HandlerCalls:
    """Starts handler calls. One per worker; `close` when it stops."""

    def __init__(self) -> None:
        #: The first is the one; the others are spare. A handler's calls that hang beyond their timeout are
        #: counted against its concurrency, which bounds how many loops can be blocked at once.
        self._loops = [_LoopThread("outbox-handlers")]

    def start(self, handler: Handler, event: Event) -> Call:
        """Begin a call. Its `ended` gives None, or what the handler raised; it never holds an exception."""
        if handler.is_async:
            return self._responsive_loop().start(handler, event)
        call = Call()
        threading.Thread(
            target=_run_in_thread,
            args=(handler, event, call),
            name=f"outbox-handler-{handler.name}",
            daemon=True,
        ).start()
        return call

    def close(self) -> None:
        """Let the loops end. Calls that still run are abandoned."""
        for loop in self._loops:
            loop.close()

    def _responsive_loop(self) -> "_LoopThread":
        for loop in self._loops:
            if not loop.blocked():
                return loop
        spare = _LoopThread(f"outbox-handlers-spare-{len(self._loops)}")
        self._loops.append(spare)
        return spare


class _LoopThread:
    """An event loop in a daemon thread, which can tell whether it answers."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._closing = False
        self._asked_at_s: float | None = None
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def start(self, handler: Handler, event: Event) -> Call:
        call = Call(self._loop)
        if self._asked_at_s is None:
            self._asked_at_s = monotonic()
        self._loop.call_soon_threadsafe(self._begin, handler, event, call)
        return call

    def blocked(self) -> bool:
        """Has it left what it was given untouched for too long?"""
        asked_at_s = self._asked_at_s
        return asked_at_s is not None and monotonic() - asked_at_s > _BLOCKED_AFTER_S

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._closing:
            # A handler may stop its loop, or leave a callback behind that raises SystemExit: the others
            # are still on it.
            with suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()
        with suppress(SystemExit, KeyboardInterrupt):
            self._loop.run_until_complete(_end_tasks())
        self._loop.close()

    def _begin(self, handler: Handler, event: Event, call: Call) -> None:
        self._asked_at_s = None
        call.task = self._loop.create_task(_run_on_loop(handler, event, call))
        call.task.add_done_callback(lambda _: _end_unbegun(call))


async def _end_tasks() -> None:
    """What still runs as its loop is closed may clean up. One that declines holds its own thread, and nobody else."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _end_unbegun(call: Call) -> None:
    """A task that is cancelled before its first step never runs: its end is told here."""
    if not call.ended.done():
        call.ended.set_result(Raised(asyncio.CancelledError("cancelled before it began")))


async def _run_on_loop(handler: Handler, event: Event, call: Call) -> None:
    try:
        await cast("Callable[[Event], Awaitable[object]]", handler.function)(event)
    except BaseException as exception:  # noqa: BLE001 - SystemExit and CancelledError too: it must not reach the loop
        call.ended.set_result(Raised(exception))
    else:
        call.ended.set_result(None)


def _run_in_thread(handler: Handler, event: Event, call: Call) -> None:
    try:
        result = handler.function(event)
    except BaseException as exception:  # noqa: BLE001 - as above
        call.ended.set_result(Raised(exception))
    else:
        call.ended.set_result(_unless_awaitable(result))


def _unless_awaitable(result: object) -> Raised | None:
    """A plain function that only made a coroutine has handled nothing (a wrapper around an `async def`)."""
    if not isawaitable(result):
        return None
    if isinstance(result, CoroutineType):
        result.close()
    return Raised(
        PermanentError("a plain function returned an awaitable, which was not run: make it async def")
    )
