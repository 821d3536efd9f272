"""What a replay is to send: the meaning of the JSON that is stored with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from streams.records.delivery import Origin
from streams.records.target import TargetName, parse_target
from streams.records.wire import read_origin

__all__ = ["MOST_PLACES", "Place", "PlacesSelection", "RecoverySelection"]

MOST_PLACES: Final = 500
"""How many places a replay may name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One record to send again: where it lies, and which event stands there.

    `target` is for whom, where the record does not say it: on `outbox.events`. A dead letter names its own.
    """

    at: Origin
    event_id: UUID
    target: TargetName | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacesSelection:
    """Records by their places: what `resend` and `redrive` send.

    >>> place = Place(
    ...     at=Origin("outbox.events", 0, 7), event_id=UUID(int=1), target=TargetName("endpoint", "ep_1")
    ... )
    >>> PlacesSelection.from_json(PlacesSelection(places=(place,)).to_json()).places == (place,)
    True
    """

    places: Sequence[Place]

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "places": [
                {
                    "at": str(place.at),
                    "event_id": str(place.event_id),
                    "target": None if place.target is None else str(place.target),
                }
                for place in self.places
            ]
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> PlacesSelection:
        """As it was stored."""
        return cls(
            places=tuple(
                Place(
                    at=read_origin({"outbox-origin": one["at"].encode()}),
                    event_id=UUID(one["event_id"]),
                    target=None if one["target"] is None else parse_target(one["target"]),
                )
                for one in stored["places"]
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySelection:
    """What an endpoint should have got and has not, of the events committed in [since, until); None: up to the start.

    >>> from datetime import UTC
    >>> selection = RecoverySelection(since=datetime(2026, 3, 1, tzinfo=UTC), until=None)
    >>> RecoverySelection.from_json(selection.to_json()) == selection
    True
    """

    since: datetime
    until: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "since": self.since.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RecoverySelection:
        """As it was stored."""
        until = stored["until"]
        return cls(
            since=datetime.fromisoformat(stored["since"]),
            until=None if until is None else datetime.fromisoformat(until),
        )
