"""The load of a run: a thread that commits events at a steady rate, whatever happens to Postgres meanwhile.

It remembers what it committed only to follow the pulse of the run. What counts for the verdict is what Postgres says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random
from uuid import UUID

import psycopg

import outbox
from outbox.event_id import new_event_id
from outbox.row import OutboxRow
from tests.faults.harness.plan import event_mix, prefix_of
from tests.support.marks import PAYLOAD_MARK

__all__ = ["Load"]

_BATCHES_A_SECOND = 10


class Load:
    """`on_commit` is told of each event, when its transaction has returned: id, what it is of, and when."""

    def __init__(
        self,
        database_url: Callable[[], str],
        *,
        run: str,
        rng: Random,
        rate: float,
        on_commit: Callable[[str, str, float], None],
    ) -> None:
        self._database_url = database_url
        self._prefix = prefix_of(run)
        self._rng = rng
        self._batch = max(round(rate / _BATCHES_A_SECOND), 1)
        self._pause_s = self._batch / rate
        self._on_commit = on_commit
        self._enough = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """End the load. What ended it before is raised."""
        self._enough.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._flow()
        except Exception as error:  # noqa: BLE001 - raised where the load is ended
            self._error = error

    def _flow(self) -> None:
        while not self._enough.is_set():
            try:
                with psycopg.connect(self._database_url(), connect_timeout=2) as connection:
                    self._commit_batches(connection)
            except psycopg.Error:
                self._enough.wait(self._pause_s)  # Postgres is away: the pace of the load goes on

    def _commit_batches(self, connection: psycopg.Connection) -> None:
        due_s = time.monotonic()
        while not self._enough.is_set():
            batch = [event_mix(self._rng) for _ in range(self._batch)]
            rows = [
                OutboxRow.of(
                    type=f"{self._prefix}.{event.wants}",
                    aggregate=("order", event.aggregate_id),
                    payload=event.text.replace("filler", PAYLOAD_MARK).encode(),
                    id=UUID(int=new_event_id().int & ~0xFF | event.chance),
                )
                for event in batch
            ]
            outbox.append_many(connection, rows)
            connection.commit()
            now_ms = time.time() * 1000
            for row, event in zip(rows, batch, strict=True):
                self._on_commit(str(row.id), event.wants, now_ms)
            due_s = max(due_s + self._pause_s, time.monotonic() - 1.0)
            self._enough.wait(max(due_s - time.monotonic(), 0.0))
