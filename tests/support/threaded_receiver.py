"""The scripted receiver in a thread of its own, for tests that are not async or that block their loop.

with ThreadedReceiver() as receiver:
    receiver.script("/orders", respond(500), respond(204))
    ... a worker process sends to receiver.url("/orders") ...
    first, second = receiver.wait_for(2)
"""

import asyncio
import threading
from collections.abc import Collection, Coroutine, Sequence
from types import TracebackType
from typing import Self, TypeVar

from tests.support.answers import Answer
from tests.support.received import Received
from tests.support.receiver import Receiver

__all__ = ["ThreadedReceiver"]

_T = TypeVar("_T")
_STOP_S = 10.0


class ThreadedReceiver:
    """As `Receiver`, called from another thread."""

    def __init__(self, *, port: int = 0) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="receiver", daemon=True)
        self._receiver = Receiver(port=port)

    @property
    def requests(self) -> Sequence[Received]:
        return tuple(self._receiver.requests)

    def requests_to(self, path: str) -> Sequence[Received]:
        return tuple(self._receiver.requests_to(path))

    def url(self, path: str = "/") -> str:
        return self._receiver.url(path)

    def script(self, path: str, *answers: Answer) -> None:
        self._loop.call_soon_threadsafe(self._receiver.script, path, *answers)

    def wait_for(self, count: int, *, path: str | None = None, timeout_s: float = 10.0) -> Sequence[Received]:
        return tuple(self._call(self._receiver.wait_for(count, path=path, timeout_s=timeout_s)))

    def wait_for_events(self, event_ids: Collection[str], *, path: str, timeout_s: float = 10.0) -> None:
        self._call(self._receiver.wait_for_events(event_ids, path=path, timeout_s=timeout_s))

    def start(self) -> None:
        """Listen; again on the same port after a stop."""
        if not self._thread.is_alive():
            self._thread.start()
        self._call(self._receiver.start())

    def stop(self) -> None:
        """Close the port and all connections, as a receiver that goes down does."""
        self._call(self._receiver.stop())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_S)
        self._loop.close()

    def _call(self, work: Coroutine[object, object, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
