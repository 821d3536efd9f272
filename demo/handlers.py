"""The demo's handlers, as an application would write them. The worker imports this module.

Each call is noted in the file that `DEMO_CALLS_FILE` names, so that the demo sees from outside what was called with
which bytes, and needs to believe no log of the processor.
"""

import hashlib
import json
import os

from outbox import Event, PermanentError, handlers

__all__ = ["CALLS_FILE_VARIABLE", "confirm", "refund"]

CALLS_FILE_VARIABLE = "DEMO_CALLS_FILE"


@handlers.on("order.placed", name="confirm")
def confirm(event: Event) -> None:
    """Succeeds: a confirmation, say."""
    _note("confirm", event)


@handlers.on("order.refunded", name="refund")
async def refund(event: Event) -> None:
    """Can't succeed, and says so: no retry, a dead letter."""
    _note("refund", event)
    raise PermanentError("the payment was made in cash, and can't be refunded to a card")


def _note(name: str, event: Event) -> None:
    line = {
        "handler": name,
        "event_id": str(event.id),
        "body_sha256": hashlib.sha256(event.payload).hexdigest(),
    }
    # One write of a short line in append mode: calls from several threads don't mix.
    descriptor = os.open(os.environ[CALLS_FILE_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, json.dumps(line).encode() + b"\n")
    finally:
        os.close(descriptor)
