"""The directory: which targets want an event, and the target that a parked delivery is meant for.

Handlers are fixed when the worker starts; endpoints come and go with the endpoint feed. A retried delivery
always meets its endpoint as it is now: the same target object, updated in place.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.event_payload import EventPayload
from outbox.event import Event
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.handler_target import HandlerTarget
from streams.dispatch.share import WHOLE, Share
from streams.dispatch.target import Target
from streams.records.target import TEST_EVENT_TYPE, TargetName

__all__ = ["Directory"]

_CACHED_TYPES = 10_000


class _Wanting(NamedTuple):
    """Who wants a type: those who get all of its events, and the endpoints that look into the payload first."""

    targets: tuple[Target, ...]
    filtering: tuple[EndpointTarget, ...]


class Directory:
    """All targets of this worker.

    Args:
        handlers: the registered handlers' targets.
        new_endpoint_target: makes a target for an endpoint that was not known before.
    """

    def __init__(
        self, handlers: Iterable[HandlerTarget], *, new_endpoint_target: Callable[[str], EndpointTarget]
    ) -> None:
        self._handlers = {target.name: target for target in handlers}
        self._endpoints: dict[str, EndpointTarget] = {}
        self._new_endpoint_target = new_endpoint_target
        self._by_type: dict[str, _Wanting] = {}
        self._share = WHOLE

    def for_event(self, event: Event) -> tuple[Target, ...]:
        """The targets that get an event: its handlers, and the enabled endpoints that want it.

        A test event has one target, whatever that one filters. The payload is read once at most, and only where an
        endpoint has a filter for it.
        """
        if event.type == TEST_EVENT_TYPE:
            return self.for_test(event.aggregate_id)
        wanting = self._wanting(event.type)
        if not wanting.filtering:
            return wanting.targets
        payload = EventPayload(event)
        return (
            *wanting.targets,
            *(
                target
                for target in wanting.filtering
                if target.endpoint and target.endpoint.wants_payload(payload)
            ),
        )

    def routes(self, event: Event) -> bool:
        """Whether anybody might get events of this type. Where payload filters want none of them, that is meant so."""
        wanting = self._wanting(event.type)
        return event.type != TEST_EVENT_TYPE and bool(wanting.targets or wanting.filtering)

    def for_type(self, event_type: str) -> tuple[Target, ...]:
        """The targets that are subscribed to a type: handlers and enabled endpoints, payload filters left aside."""
        wanting = self._wanting(event_type)
        return (*wanting.targets, *wanting.filtering)

    def for_test(self, endpoint_id: str) -> tuple[Target, ...]:
        """The one target of a test event: the endpoint that it is about, while it is enabled; no handler gets it."""
        target = self._endpoints.get(endpoint_id)
        enabled = target is not None and target.endpoint is not None and target.endpoint.enabled
        return (target,) if target is not None and enabled else ()

    def by_name(self, name: TargetName) -> Target | None:
        """The target of a parked delivery; None if this worker knows of none by that name."""
        if name.kind == "handler":
            return self._handlers.get(name)
        return self._endpoints.get(name.name)

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """An endpoint was created or changed."""
        target = self._endpoints.get(endpoint.id)
        if target is None:
            target = self._endpoints[endpoint.id] = self._new_endpoint_target(endpoint.id)
            target.set_share(self._share)
        target.change(endpoint)
        self._by_type.clear()

    def remove_endpoint(self, endpoint_id: str) -> None:
        """An endpoint was deleted: what waits for it here or in the tiers is cancelled when its turn comes."""
        target = self._endpoints.pop(endpoint_id, None)
        if target is not None:
            target.endpoint = None
        self._by_type.clear()

    def set_share(self, share: Share) -> None:
        """This worker's share of the work has changed, and so its part of endpoints' limits."""
        self._share = share
        for target in self._endpoints.values():
            target.set_share(share)

    @property
    def handler_count(self) -> int:
        """How many handlers are registered."""
        return len(self._handlers)

    @property
    def endpoint_count(self) -> int:
        """How many endpoints are known."""
        return len(self._endpoints)

    def _wanting(self, event_type: str) -> _Wanting:
        found = self._by_type.get(event_type)
        if found is None:
            if len(self._by_type) >= _CACHED_TYPES:
                self._by_type.clear()
            found = self._by_type[event_type] = self._find(event_type)
        return found

    def _find(self, event_type: str) -> _Wanting:
        handlers: list[Target] = [
            target for target in self._handlers.values() if target.handler.filter.matches(event_type)
        ]
        plain: list[Target] = []
        filtering: list[EndpointTarget] = []
        for target in self._endpoints.values():
            endpoint = target.endpoint
            if endpoint is not None and endpoint.enabled and endpoint.subscribes_to(event_type):
                (plain if endpoint.payload_filter is None else filtering).append(target)
        return _Wanting((*handlers, *plain), tuple(filtering))
