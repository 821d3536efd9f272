"""Everything that `outbox` raises, in one tree.

::

    OutboxError
    ├── AppendError                  nothing was written
    │   ├── InvalidFieldError        a field can't be stored; `.field` names it (also a ValueError)
    │   │   └── PayloadTooLargeError
    │   ├── ConnectionMisusedError   wrong kind of connection, or no transaction (also a TypeError)
    │   └── OutboxNotSetUpError      the table isn't there, or the role may not insert into it
    ├── EventFilterError             a pattern that no filter understands (also a ValueError)
    ├── RegistrationError            a handler that can't be registered
    ├── PermanentError               raised by a handler: this delivery will never succeed
    │   └── PayloadNotJsonError      what `Event.json()` raises (also a ValueError)
    └── TemporaryError               raised by a handler: try again, after `retry_after` if it is set

A message says what happened, to which field, and what to do next. It never holds a payload or a header's
value: both may be personal data, and messages end in logs.

Errors that Postgres raises while a row is written (a serialization failure, a lost connection, an id used
twice) pass through as the `psycopg` errors they are: they concern the whole transaction, and whoever began it
retries it.
"""

from __future__ import annotations

import math
from datetime import timedelta

__all__ = [
    "AppendError",
    "ConnectionMisusedError",
    "EventFilterError",
    "InvalidFieldError",
    "OutboxError",
    "OutboxNotSetUpError",
    "PayloadNotJsonError",
    "PayloadTooLargeError",
    "PermanentError",
    "RegistrationError",
    "TemporaryError",
]


class OutboxError(Exception):
    """The root of all errors of this package."""


class AppendError(OutboxError):
    """An event that was not appended. Nothing was written, and the caller's transaction is as it was."""


class InvalidFieldError(AppendError, ValueError):
    """A field that can't be stored.

    Attributes:
        field: the argument's name, e.g. `"aggregate"`.
    """

    def __init__(self, field: str, problem: str, advice: str) -> None:
        super().__init__(f"{field}: {problem}. {advice}")
        self.field = field


class PayloadTooLargeError(InvalidFieldError):
    """A payload over the limit of `outbox.MAX_PAYLOAD_BYTES`."""


class ConnectionMisusedError(AppendError, TypeError):
    """A connection that no event can be appended through: of the wrong kind, or outside of a transaction."""


class OutboxNotSetUpError(AppendError):
    """A database in which this role can't append: the table is missing, or the role may not use it."""


class EventFilterError(OutboxError, ValueError):
    """A pattern that is neither an event type, nor a type followed by `.*`, nor `*`."""


class RegistrationError(OutboxError):
    """A handler that can't be registered: not callable with one event, or a name that is taken."""


class PermanentError(OutboxError):
    """Raised by a handler to end its delivery at once: no retry would help. It becomes a dead letter."""


class PayloadNotJsonError(PermanentError, ValueError):
    """A payload that isn't JSON, read with `Event.json()`. Permanent: it will not change."""


class TemporaryError(OutboxError):
    """Raised by a handler to be called again later, with the usual backoff or no sooner than it asks.

    Any other exception is retried too; this one says that it was expected.

    Args:
        message: what happened. It is recorded with the attempt, so no secret and no payload.
        retry_after: the least wait until the next attempt, in seconds or as a timedelta; None for the usual
            backoff.

    Raises:
        ValueError: `retry_after` is negative or not finite.

    >>> TemporaryError("the ledger is locked", retry_after=2.5).retry_after
    datetime.timedelta(seconds=2, microseconds=500000)
    """

    def __init__(self, message: str = "", *, retry_after: float | timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = None if retry_after is None else _wait(retry_after)


def _wait(retry_after: float | timedelta) -> timedelta:
    seconds = retry_after.total_seconds() if isinstance(retry_after, timedelta) else float(retry_after)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(
            f"retry_after: {seconds} is not a wait. Give seconds from 0 up, a timedelta, or None."
        )
    try:
        return timedelta(seconds=seconds)
    except OverflowError as error:
        raise ValueError(f"retry_after: {seconds} seconds is longer than any wait. Give less.") from error
