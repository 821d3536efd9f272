"""The window: how many turns a worker holds at once. The agent waits here, so Kafka keeps the rest (bounded memory)."""

import asyncio
from collections import deque

__all__ = ["Window"]


class Window:
    """Counts open turns. One record may carry the count past the size by its fan-out; nothing more is taken then."""

    __slots__ = ("_waiters", "open_turns", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.open_turns = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def full(self) -> bool:
        """No room for another record?"""
        return self.open_turns >= self.size

    async def room(self) -> None:
        """Wait until there is room, in the order of asking."""
        while self.full:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def enter(self) -> None:
        """A turn opens."""
        self.open_turns += 1

    def leave(self) -> None:
        """A turn closes; somebody who waits may go on."""
        self.open_turns -= 1
        while self._waiters and not self.full:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
