"""What an application imports: append events to the outbox, and register handlers for them.

It needs psycopg and orjson, and nothing of the processor: no Kafka. `append` and its kin write a row in the
caller's transaction; `handlers` is the registry that a worker reads with `outbox worker --handlers
package.module`.
"""

from __future__ import annotations

from outbox.append import append, append_async, append_many, append_many_async
from outbox.errors import (
    AppendError,
    ConnectionMisusedError,
    EventFilterError,
    InvalidFieldError,
    OutboxError,
    OutboxNotSetUpError,
    PayloadNotJsonError,
    PayloadTooLargeError,
    PermanentError,
    RegistrationError,
    TemporaryError,
)
from outbox.event import Event
from outbox.event_filter import EventFilter
from outbox.handlers import Handler, Handlers
from outbox.payload import MAX_PAYLOAD_BYTES
from outbox.row import OutboxRow

__all__ = [
    "MAX_PAYLOAD_BYTES",
    "AppendError",
    "ConnectionMisusedError",
    "Event",
    "EventFilter",
    "EventFilterError",
    "Handler",
    "Handlers",
    "InvalidFieldError",
    "OutboxError",
    "OutboxNotSetUpError",
    "OutboxRow",
    "PayloadNotJsonError",
    "PayloadTooLargeError",
    "PermanentError",
    "RegistrationError",
    "TemporaryError",
    "append",
    "append_async",
    "append_many",
    "append_many_async",
    "handlers",
]

handlers = Handlers()
"""The default registry: `from outbox import handlers`, then `@handlers.on("order.created")`."""
