"""The demo's interrupt: the first one ends it, and all later ones do nothing, for then it is already cleaning up."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

__all__ = ["Interrupt"]

_Result = TypeVar("_Result")


class Interrupt:
    """Ctrl-C, and the other requests to end. Make one, in the main thread, for the whole process."""

    def __init__(self) -> None:
        self._cancel: Callable[[], object] | None = None
        self._arrived = False
        # Also SIGINT, which a shell's background job ignores otherwise.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine to its end, its own cleaning up included, even when interrupted.

        Raises:
            KeyboardInterrupt: it was interrupted.
        """

        async def cancellable() -> _Result:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            assert task is not None  # noqa: S101 - a coroutine that runs is a task's
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
            try:
                return await work
            finally:
                self._cancel = None

        try:
            result = asyncio.run(cancellable())
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        if self._arrived:
            raise KeyboardInterrupt
        return result

    def _on_signal(self, _: int, __: FrameType | None) -> None:
        if self._arrived:
            return
        self._arrived = True
        if self._cancel is None:
            raise KeyboardInterrupt
        self._cancel()
