"""The handlers of a run, loaded by its workers as an application's module is. They write down every call.

`FAULTS_JOURNAL` names the journal, `FAULTS_RUN` the run, and `FAULTS_PREFIX` what its event types begin with.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from outbox import Event, PermanentError, TemporaryError, handlers
from tests.faults.harness.facts import Receipt
from tests.faults.harness.journal import JournalWriter

__all__: list[str] = []

_journal = JournalWriter(Path(os.environ["FAULTS_JOURNAL"]))
_prefix = os.environ["FAULTS_PREFIX"]
_run = os.environ["FAULTS_RUN"]
_tried: set[str] = set()


def _note(event: Event, handler: str, *, ok: bool) -> None:
    now_ms = time.time() * 1000
    _journal.write(
        Receipt(
            event_id=str(event.id),
            target=f"handler:{handler}-{_run}",
            began_ms=now_ms,
            answered_ms=now_ms,
            ok=ok,
            sha256=hashlib.sha256(event.payload).hexdigest(),
        )
    )


@handlers.on(f"{_prefix}.plain", name=f"ledger-{_run}")
async def ledger(event: Event) -> None:
    _note(event, "ledger", ok=True)


@handlers.on(f"{_prefix}.flaky", name=f"shaky-{_run}")
async def shaky(event: Event) -> None:
    """Fails the first time that this process sees an event with an even id."""
    ok = bool(event.id.int % 2) or str(event.id) in _tried
    _tried.add(str(event.id))
    _note(event, "shaky", ok=ok)
    if not ok:
        raise TemporaryError("not yet")


@handlers.on(f"{_prefix}.refuse", name=f"refusing-{_run}")
async def refusing(event: Event) -> None:
    _note(event, "refusing", ok=False)
    raise PermanentError("never")
