"""Burial: a whole record that can't be read, or that nobody wants, goes to the dead letters with its bytes.

Place in the data's way: beside the turns; the partition moves on. What always holds: a worker that wakes up late buries
nothing that is somebody else's by now.
"""

import asyncio
from collections.abc import Callable

import structlog

from streams.dispatch.hops import dead_record
from streams.dispatch.ports import Received
from streams.dispatch.settlement import Settlement
from streams.dispatch.tenure import Tenure
from streams.dispatch.turn import Flight
from streams.dispatch.window import Window
from streams.records.delivery import Origin

__all__ = ["Burial"]

_log = structlog.get_logger("streams.dispatch")


class Burial:
    """Buries records."""

    def __init__(self, settlement: Settlement, *, tenure: Tenure, window: Window) -> None:
        self._settlement = settlement
        self._tenure = tenure
        self._window = window
        self._waiting: set[asyncio.Task[None]] = set()

    def bury(
        self, record: Received, headers: dict[str, bytes], flight: Flight, *, code: str, error: str
    ) -> None:
        """Bury a record, at once or as soon as the partition is surely ours again."""
        origin = Origin(record.topic, record.partition, record.offset)
        flight.open_turns = 1
        flight.started = True
        self._window.enter()
        dead = dead_record(
            headers=headers, key=record.key, value=record.value, origin=origin, code=code, error=error
        )

        def bury() -> None:
            _log.warning(
                "dead_letter",
                event_id=headers.get("id", b"")[:36].decode(errors="replace"),
                code=code,
                origin=str(origin),
                error=error,
            )
            self._settlement.producer.produce([dead], lambda: self._settlement.close(flight))

        if self._tenure.held():
            bury()
            return
        task = asyncio.get_running_loop().create_task(self._with_lease(bury, flight))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _with_lease(self, bury: Callable[[], None], flight: Flight) -> None:
        if await self._tenure.again(flight.ledger):
            bury()
        else:
            self._settlement.leave(flight)
