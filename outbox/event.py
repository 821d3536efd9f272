"""The event: what a handler is called with. It is made from a Kafka record by the processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from outbox.errors import PayloadNotJsonError

__all__ = ["Event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An immutable fact, as it was appended.

    One event is given to all of its handlers, some of them in threads: treat `headers` as read-only too.

    Attributes:
        id: the outbox row's id. It is the same on every attempt, replay and re-read: deduplicate by it.
        type: e.g. `order.created`.
        aggregate_type: what kind of thing the event is about, e.g. `order`.
        aggregate_id: which one. Events of one aggregate id are first attempted in the order of their commits.
        payload: the bytes as they were appended. Not part of the repr, which may end in a log.
        content_type: the media type of the payload.
        headers: what the application added. Not part of the repr either.
        created_at: when the row was written, by the clock of the database.
    """

    id: UUID
    type: str
    aggregate_type: str
    aggregate_id: str
    payload: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)
    created_at: datetime

    def json(self) -> Any:
        """Return the payload as JSON.

        Raises:
            PayloadNotJsonError: it isn't; a handler that lets this pass ends its delivery, as no retry would
                help.
        """
        try:
            return orjson.loads(self.payload)
        except orjson.JSONDecodeError as error:
            # `from None`: the decoder's error carries the whole payload as its `doc`.
            raise PayloadNotJsonError(
                f"The payload of event {self.id} ({self.type}, {self.content_type}) is not JSON: {error.msg} "
                f"at character {error.pos}. Read `payload` instead, or correct what appends this type."
            ) from None
