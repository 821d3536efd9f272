"""Handlers called for real: threads, loops, and a target around each function."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from outbox.event_filter import EventFilter
from outbox.handler_function import is_async_function
from outbox.handlers import Handler
from streams.dispatch.handler_calls import HandlerCalls
from streams.dispatch.handler_target import HandlerTarget
from tests.support.deliveries import HANDLER_POLICY

__all__ = ["Gate", "HandlerBench", "a_handler"]

#: Longer than any test takes: a handler that isn't meant to time out doesn't.
_AMPLE = timedelta(seconds=60)


class Gate:
    """Holds whoever waits at it, in a thread or by blocking a loop, until the test opens it."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def wait(self) -> None:
        self.reached.set()
        self._opened.wait()

    def open(self) -> None:
        self._opened.set()


def a_handler(
    function: Callable[..., Any], *, timeout: timedelta = _AMPLE, concurrency: int = 4, name: str = "h"
) -> Handler:
    return Handler(
        name=name,
        filter=EventFilter("*"),
        function=function,
        is_async=is_async_function(function),
        timeout=timeout,
        concurrency=concurrency,
    )


class HandlerBench:
    """One set of calls for all handlers of a test; `close` opens every gate and ends every loop."""

    def __init__(self) -> None:
        self.calls = HandlerCalls()
        self._gates: list[Gate] = []

    def gate(self) -> Gate:
        gate = Gate()
        self._gates.append(gate)
        return gate

    def target(self, function: Callable[..., Any], **settings: Any) -> HandlerTarget:
        return HandlerTarget(a_handler(function, **settings), calls=self.calls, policy=HANDLER_POLICY)

    def close(self) -> None:
        for gate in self._gates:
            gate.open()
        self.calls.close()
        for loop in self.calls._loops:
            loop.thread.join()
