"""An event's payload as JSON, read when somebody asks, and once however many do.

Place in the data's way: between an event and the payload filters of its endpoints. What is not JSON, by its media
type or by its bytes, is no payload that a filter could want. Must not raise, nor show what it read.
"""

from typing import Final

import orjson

from outbox.event import Event

__all__ = ["EventPayload"]

_UNREAD: Final = object()


class EventPayload:
    """The payload of one event."""

    __slots__ = ("_event", "_json")

    def __init__(self, event: Event) -> None:
        self._event = event
        self._json = _UNREAD

    def json(self) -> object:
        """What the payload says; None if it is no JSON, which no filter wants either."""
        if self._json is _UNREAD:
            self._json = _read(self._event)
        return self._json


def _read(event: Event) -> object:
    if not _is_json(event.content_type):
        return None
    try:
        return orjson.loads(event.payload)
    except orjson.JSONDecodeError:
        return None


def _is_json(content_type: str) -> bool:
    """JSON by its media type (RFC 6838): `application/json`, or a type that is written as JSON.

    >>> [
    ...     _is_json(t)
    ...     for t in ("application/json; charset=utf-8", "application/cloudevents+json", "text/plain")
    ... ]
    [True, True, False]
    """
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or media_type.endswith("+json")
