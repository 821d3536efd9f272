"""A drain: waiting, with a limit, until nothing is open in the window."""

import asyncio

from streams.dispatch.window import Window

__all__ = ["Drain"]


class Drain:
    """Whether a drain is on, and who waits for its end."""

    __slots__ = ("_changed", "active")

    def __init__(self) -> None:
        self.active = False
        self._changed = asyncio.Event()

    def begin(self) -> None:
        """Nothing new is taken from here on."""
        self.active = True

    def end(self) -> None:
        """Records are taken again."""
        self.active = False

    def changed(self) -> None:
        """A turn closed."""
        if self.active:
            self._changed.set()

    async def wait_until_empty(self, window: Window, *, limit_s: float) -> bool:
        """Wait until no turn is open; False if the limit came first."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + limit_s
        while window.open_turns:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), timeout=max(deadline_s - loop.time(), 0))
            except TimeoutError:
                return False
        return True
