"""A gate before an answer: a receiver holds its requests until the test opens it."""

import asyncio
from concurrent.futures import Future

from tests.support.answers import Answer, Exchange

__all__ = ["Gate"]


class Gate:
    """Closed until `open` is called, by any thread; then open for good."""

    def __init__(self) -> None:
        self._opened: Future[None] = Future()

    @property
    def is_open(self) -> bool:
        return self._opened.done()

    def open(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    def before(self, answer: Answer) -> Answer:
        """Hold a request at the gate, then answer it."""

        async def held(exchange: Exchange) -> bool:
            # Shielded: a client that goes away cancels its own waiting, not the gate.
            await asyncio.shield(asyncio.wrap_future(self._opened))
            return await answer(exchange)

        return held
