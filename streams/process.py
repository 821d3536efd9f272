"""A process of ours: an event loop, and a clean stop on SIGTERM and SIGINT.

The first signal asks for a stop, which is clean and within the drain limit. A second one ends the process
at once, for whoever can't wait; nothing is lost by that, some deliveries may be repeated.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import uvloop

__all__ = ["run_process"]


def run_process(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `main` with the event that a signal sets, until it returns. What it raises is raised here."""
    # For the loops of other threads too: Kafka's client and the handlers have their own.
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(_with_signals(main))


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
