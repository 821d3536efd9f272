"""Who wants an event now: the handlers that are given, and the enabled endpoints as the feed has them.

Place in the data's way: beside it. It answers as a worker's directory would (`streams.dispatch.directory`), without
anything that could attempt a delivery. Pure.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.event_payload import EventPayload
from outbox.event import Event
from outbox.handlers import Handler
from streams.records.target import TEST_EVENT_TYPE, TargetName

__all__ = ["Audience"]

_CACHED_TYPES: Final = 10_000


class Audience:
    """All who may want events.

    Args:
        endpoints: as they are now; those that are disabled want nothing.
        handlers: the application's.
    """

    def __init__(self, endpoints: Iterable[Endpoint], handlers: Iterable[Handler] = ()) -> None:
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.enabled]
        self._handlers = tuple(handlers)
        self._by_type: dict[str, tuple[Sequence[str], Sequence[Endpoint]]] = {}

    def of(self, event: Event) -> tuple[str, ...]:
        """The targets that want an event, by name. A test event is for the one endpoint that is its aggregate."""
        if event.type == TEST_EVENT_TYPE:
            return tuple(_name(each) for each in self._endpoints if each.id == event.aggregate_id)
        names, endpoints = self._subscribed(event.type)
        payload = EventPayload(event)
        return (*names, *(_name(each) for each in endpoints if each.wants_payload(payload)))

    def _subscribed(self, event_type: str) -> tuple[Sequence[str], Sequence[Endpoint]]:
        found = self._by_type.get(event_type)
        if found is None:
            if len(self._by_type) >= _CACHED_TYPES:
                self._by_type.clear()
            found = self._by_type[event_type] = (
                [
                    str(TargetName("handler", each.name))
                    for each in self._handlers
                    if each.filter.matches(event_type)
                ],
                [each for each in self._endpoints if each.subscribes_to(event_type)],
            )
        return found


def _name(endpoint: Endpoint) -> str:
    return str(TargetName("endpoint", endpoint.id))
