"""Handlers in name only: whoever loads this as a worker's handlers gets a Kafka consumer that crashes soon.

And then as a broken one does: it commits nothing any more, and its thread's loop is closed.
"""

from typing import Any

from outbox import Event, handlers
from streams.commit.consumer import SettledConsumer

__all__: list[str] = []


async def _crash(self: Any, *_: Any, **__: Any) -> bool:
    if list(self.ledgers):
        await self.crash(RuntimeError("made to crash"))
    return False


async def _closed(*_: Any, **__: Any) -> bool:
    raise RuntimeError("Event loop is closed")


@handlers.on("never.appended")
async def nothing(_: Event) -> None:
    """A worker without any handler is refused."""


SettledConsumer.commit = _crash  # type: ignore[method-assign]
SettledConsumer.force_commit = _closed  # type: ignore[method-assign]
