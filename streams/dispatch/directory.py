"""The directory: which targets want an event, and the target that a parked delivery is meant for.

Handlers are fixed when the worker starts; endpoints come and go with the endpoint feed. A retried delivery
always meets its endpoint as it is now: the same target object, updated in place.
"""

from collections.abc import Callable, Iterable

from connectors.webhook.endpoint import Endpoint
from streams.dispatch.endpoint_target import EndpointTarget
from streams.dispatch.handler_target import HandlerTarget
from streams.dispatch.target import Target
from streams.records.target import TargetName

__all__ = ["Directory"]

_CACHED_TYPES = 10_000


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
        self._by_type: dict[str, tuple[Target, ...]] = {}

    def for_type(self, event_type: str) -> tuple[Target, ...]:
        """The targets that get an event of this type: its handlers, and the enabled endpoints subscribed to it."""
        found = self._by_type.get(event_type)
        if found is None:
            if len(self._by_type) >= _CACHED_TYPES:
                self._by_type.clear()
            found = self._by_type[event_type] = self._find(event_type)
        return found

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
        target.change(endpoint)
        self._by_type.clear()

    def remove_endpoint(self, endpoint_id: str) -> None:
        """An endpoint was deleted: what waits for it here or in the tiers is cancelled when its turn comes."""
        target = self._endpoints.pop(endpoint_id, None)
        if target is not None:
            target.endpoint = None
        self._by_type.clear()

    @property
    def handler_count(self) -> int:
        """How many handlers are registered."""
        return len(self._handlers)

    @property
    def endpoint_count(self) -> int:
        """How many endpoints are known."""
        return len(self._endpoints)

    def _find(self, event_type: str) -> tuple[Target, ...]:
        handlers: list[Target] = [
            target for target in self._handlers.values() if target.handler.filter.matches(event_type)
        ]
        endpoints = [
            target
            for target in self._endpoints.values()
            if target.endpoint is not None
            and target.endpoint.enabled
            and target.endpoint.subscribes_to(event_type)
        ]
        return (*handlers, *endpoints)
