"""Which events a range replay sends, and to whom: the meaning of the JSON that is stored with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from connectors.webhook.endpoint import NOT_STORABLE
from outbox.event import Event
from outbox.event_filter import EventFilter
from streams.records.target import TEST_EVENT_TYPE, TargetName, parse_target

__all__ = [
    "MOST_CHOICES",
    "MOST_IDS",
    "MOST_TARGETS",
    "NEEDS_TYPES",
    "EventsFrom",
    "RangeSelection",
    "is_aggregate",
    "needs_types",
]

EventsFrom = Literal["kafka", "postgres"]
"""Where the events are read: on `outbox.events`, or from the rows of the outbox table."""

MOST_TARGETS: Final = 20
"""How many targets a range may name."""
MOST_CHOICES: Final = 100
"""How many types, and how many aggregates."""
NEEDS_TYPES: Final = (
    "Which types a handler takes, only the workers know: name the types that it is to get, or * for all."
)
"""What is said of a range for a handler without types."""
MOST_IDS: Final = 500
"""How many events by their ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeSelection:
    """The events committed in [begin, end) that match, for these targets.

    Of types, of aggregates (`order/42`: type and id) and of ids, what is given must hold, and of each any one will do.
    Test events are never among them: they are for one endpoint alone.

    >>> from datetime import UTC
    >>> selection = RangeSelection(
    ...     begin=datetime(2026, 3, 1, tzinfo=UTC),
    ...     end=datetime(2026, 3, 2, tzinfo=UTC),
    ...     types=(EventFilter("order.*"),),
    ...     aggregates=("order/42",),
    ...     ids=(UUID(int=1),),
    ...     targets=(TargetName("endpoint", "ep_1"), TargetName("handler", "billing")),
    ... )
    >>> RangeSelection.from_json(selection.to_json()) == selection
    True
    """

    begin: datetime
    end: datetime
    targets: Sequence[TargetName]
    types: Sequence[EventFilter] = ()
    aggregates: Sequence[str] = ()
    ids: Sequence[UUID] = ()
    events_from: EventsFrom = "kafka"

    def matches(self, event: Event) -> bool:
        """Whether it is one of these events, whoever wants it."""
        return (
            self.begin <= event.created_at < self.end
            and event.type != TEST_EVENT_TYPE
            and (not self.types or any(pattern.matches(event.type) for pattern in self.types))
            and (not self.aggregates or f"{event.aggregate_type}/{event.aggregate_id}" in self.aggregates)
            and (not self.ids or event.id in self.ids)
        )

    def to_json(self) -> dict[str, Any]:
        """As it is stored: the names of the API."""
        return {
            "from": self.begin.isoformat(),
            "to": self.end.isoformat(),
            "types": [str(pattern) for pattern in self.types],
            "aggregates": [*self.aggregates],
            "ids": [str(identifier) for identifier in self.ids],
            "targets": [str(target) for target in self.targets],
            "source": self.events_from,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RangeSelection:
        """As it was stored."""
        return cls(
            begin=datetime.fromisoformat(stored["from"]),
            end=datetime.fromisoformat(stored["to"]),
            types=tuple(map(EventFilter, stored["types"])),
            aggregates=tuple(stored["aggregates"]),
            ids=tuple(map(UUID, stored["ids"])),
            targets=tuple(map(parse_target, stored["targets"])),
            events_from=stored["source"],
        )


def is_aggregate(text: str) -> bool:
    """Whether a text names an aggregate as `outbox append` takes it, `TYPE/ID`.

    >>> is_aggregate("order/42/a"), is_aggregate("order")
    (True, False)

    What Postgres can't store is none, neither: no row has it.

    >>> is_aggregate("order/" + chr(0)), is_aggregate("order/" + chr(0xDCFF))
    (False, False)
    """
    kind, _, identifier = text.partition("/")
    return bool(kind and identifier) and NOT_STORABLE.search(text) is None


def needs_types(targets: Sequence[TargetName], types: Sequence[object]) -> bool:
    """Whether types must be named first: for a handler, since which it takes only the workers know."""
    return not types and any(target.kind == "handler" for target in targets)
