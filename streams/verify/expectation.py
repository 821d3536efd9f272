"""Who should have got an event, as far as anybody can tell afterwards. Pure.

Place in the data's way: beside it; from the endpoints and handlers as they are now. Invariant: a target is expected to
have a delivery only where it can't have been another at the time: an endpoint that nobody has changed since before
the event was committed, and handlers of which the caller says so. Who filters by payload is not: all payloads would
have to be judged. Must not: guess in favour of an alarm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from connectors.postgres.reconciliation import ExpectedTarget
from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.event_payload import EventPayload
from outbox.event import Event
from outbox.event_type import RESERVED_EVENT_TYPES
from outbox.handlers import Handler
from streams.records.target import TEST_EVENT_TYPE, TargetName

__all__ = ["HEARD_WITHIN", "Expectation"]

HEARD_WITHIN: Final = timedelta(minutes=1)
"""From an endpoint's change on until every worker has surely heard of it."""

_CACHED_TYPES: Final = 10_000


class Expectation:
    """The targets, and what they want.

    Args:
        endpoints: as they are stored now.
        handlers: those that every worker had, all the time.
        since: the first event's time.
        discard_unrouted: whether workers settle what nobody wants without a dead letter.
    """

    def __init__(
        self,
        endpoints: Iterable[StoredEndpoint],
        handlers: Iterable[Handler],
        *,
        since: datetime,
        discard_unrouted: bool,
    ) -> None:
        enabled = [one for one in endpoints if one.endpoint.enabled]
        self._plain = [one for one in enabled if one.endpoint.payload_filter is None]
        self._filtering = [one for one in enabled if one.endpoint.payload_filter is not None]
        self._handlers = tuple(handlers)
        self._since = since
        self._discard_unrouted = discard_unrouted
        self._filtering_of: dict[str, tuple[StoredEndpoint, ...]] = {}

    def targets(self, types: Iterable[str]) -> Iterator[ExpectedTarget]:
        """The targets of which events of these types must have a delivery, each with the first such event's time."""
        for event_type in types:
            if event_type == TEST_EVENT_TYPE:
                continue  # for one endpoint alone, whatever is subscribed
            for handler in self._handlers:
                if handler.filter.matches(event_type):
                    yield ExpectedTarget(event_type, str(TargetName("handler", handler.name)), self._since)
            for stored in self._plain:
                if stored.endpoint.subscribes_to(event_type):
                    target = str(TargetName("endpoint", stored.endpoint.id))
                    yield ExpectedTarget(event_type, target, _known_from(stored))

    def is_filtered(self, event_type: str) -> bool:
        """Whether `unwanted` has to see the payloads of this type."""
        return bool(self._filtering) and not self._needless(event_type) and bool(self._filters(event_type))

    def unwanted(self, event_type: str, event: Event | None = None) -> bool:
        """Whether an event may have gone to nobody without a dead letter.

        Args:
            event_type: its type.
            event: the event itself, where `is_filtered`.
        """
        if self._needless(event_type):
            return True
        if event is None or event_type == TEST_EVENT_TYPE:
            return False
        filters = self._filters(event_type)
        payload = EventPayload(event)
        return bool(filters) and not any(
            event.created_at >= _known_from(stored) and stored.endpoint.wants_payload(payload)
            for stored in filters
        )

    def _needless(self, event_type: str) -> bool:
        return self._discard_unrouted or event_type in RESERVED_EVENT_TYPES

    def _filters(self, event_type: str) -> tuple[StoredEndpoint, ...]:
        found = self._filtering_of.get(event_type)
        if found is None:
            if (
                len(self._filtering_of) >= _CACHED_TYPES
            ):  # types come from outside: they must not fill the memory
                self._filtering_of.clear()
            found = tuple(one for one in self._filtering if one.endpoint.subscribes_to(event_type))
            self._filtering_of[event_type] = found
        return found


def _known_from(stored: StoredEndpoint) -> datetime:
    """From which event on every worker knew the endpoint as it is now."""
    return stored.updated_at + HEARD_WITHIN
