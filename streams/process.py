"""A process of ours: an event loop, and a clean stop on SIGTERM and SIGINT.

The first signal asks for a stop, which is clean and within the drain limit. A second one ends the process
at once, for whoever can't wait; nothing is lost by that, some deliveries may be repeated.

When the work has ended, so does the process, whatever tasks and threads of libraries are stuck then (Faust's are,
after its consumer has crashed): one that lives on and does nothing would never be restarted (faust #175).
"""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable

import uvloop

__all__ = ["run_process"]

_LINGER_S = 5.0


def run_process(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `main` with the event that a signal sets, until it returns. What it raises is raised here."""
    # For the loops of other threads too: Kafka's client and the handlers have their own.
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    code = 1
    try:
        loop.run_until_complete(_with_signals(main))
        code = 0
    finally:
        _end_within(2 * _LINGER_S, code=code)
        if _cancel_what_is_left(loop):
            loop.close()


def _cancel_what_is_left(loop: asyncio.AbstractEventLoop) -> bool:
    """As `asyncio.run` does, but with a limit: a task may decline to end. True if all of them did."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if not left:
        return True
    _, stuck = loop.run_until_complete(asyncio.wait(left, timeout=_LINGER_S))
    return not stuck


def _end_within(limit_s: float, *, code: int) -> None:
    """Exit by force, if a thread that Python would wait for keeps the process alive."""
    forced = threading.Timer(limit_s, os._exit, (code,))
    forced.daemon = True
    forced.start()


async def _with_signals(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal(number: signal.Signals) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    await main(stop)
