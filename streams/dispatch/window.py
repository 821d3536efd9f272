"""The window: how many turns a worker holds at once. The agent waits here, so Kafka keeps the rest (bounded memory)."""

import asyncio

__all__ = ["Window"]


class Window:
    """Counts open turns. One record may carry the count past the size by its fan-out; nothing more is taken then."""

    __slots__ = ("_waiters", "open_turns", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.open_turns = 0
        self._waiters: list[asyncio.Future[None]] = []

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
        """A turn closes; whoever waits looks again.

        All of them, because one may be cancelled just now, or need no room after all; there are two agents.
        """
        self.open_turns -= 1
        if self.full:
            return
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
