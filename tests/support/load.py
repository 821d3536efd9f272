"""A steady stream of events from a thread, for as long as a test changes something around it."""

from __future__ import annotations

import threading
from secrets import token_hex
from types import TracebackType
from typing import Final, Self
from uuid import UUID

import outbox
from outbox.row import OutboxRow
from tests.support.pipeline import Pipeline, marked_payload

__all__ = ["Load"]

_BATCH: Final = 20
_PACE_S: Final = 0.05


class Load:
    """Commits a small batch every so often until the block ends. `ids` is what was committed so far."""

    def __init__(self, pipeline: Pipeline, event_type: str) -> None:
        self.ids: list[UUID] = []
        self._pipeline = pipeline
        self._event_type = event_type
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._enough.set()
        self._thread.join()

    def _run(self) -> None:
        with self._pipeline.connect() as connection:
            while not self._enough.wait(_PACE_S):  # the pace of the load; nothing is waited for here
                rows = [
                    OutboxRow.of(
                        type=self._event_type, aggregate=("order", token_hex(8)), payload=marked_payload()
                    )
                    for _ in range(_BATCH)
                ]
                outbox.append_many(connection, rows)
                connection.commit()
                self.ids += [row.id for row in rows]
