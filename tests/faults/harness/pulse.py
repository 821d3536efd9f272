"""The pulse of a run while it runs: is what was committed arriving as it should?

Used only to know when a fault is over and the next may come; the verdict measures afterwards and by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.faults.harness.facts import Delivery
from tests.faults.harness.journal import JournalReader
from tests.faults.harness.plan import BEHAVIOURS

__all__ = ["Pulse"]

_LOOK_S = 0.1
#: A prompt delivery that is older is late; one that takes retries is, when it is older than the retries take.
_PROMPT_MS: Final = 1_200.0
_RETRIED_MS: Final = 9_000.0
_STALLED_MS: Final = 25_000.0


class Pulse:
    """Follows the journals. `targets`: the name on the wire of each behaviour's name."""

    def __init__(self, journals: Sequence[Path], *, targets: Mapping[str, str]) -> None:
        self._readers = [JournalReader(path) for path in journals]
        self._open: dict[Delivery, float] = {}
        self._lock = threading.Lock()
        self._early: set[Delivery] = set()
        self._wanted: dict[str, list[tuple[str, float]]] = {}
        for behaviour in BEHAVIOURS:
            if behaviour.ends == "delivered":
                limit_ms = _PROMPT_MS if behaviour.prompt else _RETRIED_MS
                limit_ms = _STALLED_MS if behaviour.name == "stalling" else limit_ms
                self._wanted.setdefault(behaviour.wants, []).append((targets[behaviour.name], limit_ms))
        self.committed = 0
        self.arrived = 0

    def on_commit(self, event_id: str, wants: str, at_ms: float) -> None:
        """An event was committed; its deliveries are awaited from now on."""
        with self._lock:
            self.committed += 1
            for target, limit_ms in self._wanted.get(wants, ()):
                delivery = event_id, target
                if delivery in self._early:
                    self._early.discard(delivery)
                else:
                    self._open[delivery] = at_ms + limit_ms

    def late(self) -> int:
        """How many deliveries are late now."""
        with self._lock:
            self._read()
            now_ms = time.time() * 1000
            return sum(1 for due_ms in self._open.values() if due_ms < now_ms)

    def awaited(self) -> int:
        """How many deliveries have not succeeded yet."""
        with self._lock:
            self._read()
            return len(self._open)

    def wait(self, holds: Callable[[], bool], *, limit_s: float) -> bool:
        """Look until something holds; False if it does not within the limit."""
        until_s = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def _read(self) -> None:
        for reader in self._readers:
            for receipt in reader.read():
                self.arrived += receipt.ok
                if receipt.ok and self._open.pop(receipt.delivery, None) is None:
                    # It may arrive before the load hears that it is committed.
                    self._early.add(receipt.delivery)
        if len(self._early) > 10_000:
            self._early.clear()  # repetitions, which nobody awaits
