"""What load flows during a run: event types, who wants each, and how each target behaves. Pure.

A behaviour is named once, here; the receiver, the handlers and the judge follow it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

__all__ = [
    "ATTEMPTS",
    "BEHAVIOURS",
    "HINT_S",
    "SCHEDULE",
    "Behaviour",
    "Ending",
    "PlannedEvent",
    "chance_of",
    "event_mix",
    "prefix_of",
]

#: The endpoints' and, near enough, the handlers' retries: ten attempts, enough for an outage of some seconds.
SCHEDULE: Final = "1s,1s,2s,2s,4s,4s,4s,4s,4s"
ATTEMPTS: Final = 10
#: What the `hinting` endpoint asks for with Retry-After.
HINT_S: Final = 2

Ending = Literal["delivered", "dead", "waiting", "unserved"]
"""Unserved: it waits, or is dead, its attempts used up before the circuits opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a target answers, and how the deliveries to it end when nothing is lost.

    Attributes:
        kind: endpoint or handler.
        wants: the last part of the event type that it subscribes to.
        share: how much of the load is of that type.
        gap_ms: the least time between an attempt's end and the next one's begin.
        attempts: how many there are before it is dead.
        doomed: of 256 events, how many end as `ends` says; the target takes the others. Their ids tell which.
        prompt: its first attempt succeeds at once, so it shows how late the system is.
        hangs: some of its attempts take seconds, and others of the same key wait for them.
    """

    name: str
    kind: Literal["endpoint", "handler"]
    wants: str
    ends: Ending
    gap_ms: float = 500.0
    attempts: int = 1
    doomed: int = 256
    prompt: bool = False
    hangs: bool = False

    def ends_for(self, event_id: str) -> Ending:
        """How the delivery of this event ends."""
        return self.ends if chance_of(event_id) < self.doomed else "delivered"


#: All targets. Two of them share the type `plain`, so that its events have two deliveries each.
BEHAVIOURS: Final[tuple[Behaviour, ...]] = (
    Behaviour(name="steady", kind="endpoint", wants="plain", ends="delivered", prompt=True),
    Behaviour(name="ledger", kind="handler", wants="plain", ends="delivered", prompt=True),
    Behaviour(name="flaky", kind="endpoint", wants="flaky", ends="delivered"),
    Behaviour(name="shaky", kind="handler", wants="flaky", ends="delivered"),
    Behaviour(name="late", kind="endpoint", wants="late", ends="delivered", hangs=True),
    Behaviour(name="resetting", kind="endpoint", wants="reset", ends="delivered"),
    Behaviour(name="stalling", kind="endpoint", wants="stall", ends="delivered", hangs=True),
    Behaviour(name="hinting", kind="endpoint", wants="hint", ends="delivered", gap_ms=HINT_S * 1000.0),
    Behaviour(name="rejecting", kind="endpoint", wants="reject", ends="dead"),
    # An endpoint that takes most of its events: its circuit stays closed, and the others use up their attempts.
    Behaviour(name="failing", kind="endpoint", wants="fail", ends="dead", attempts=ATTEMPTS, doomed=32),
    Behaviour(name="refusing", kind="handler", wants="refuse", ends="dead"),
    Behaviour(name="parking", kind="endpoint", wants="park", ends="waiting", gap_ms=3_600_000.0),
    Behaviour(name="down", kind="endpoint", wants="down", ends="unserved"),
)

#: How many of a hundred events are of a type. `unrouted` is wanted by nobody.
_SHARES: Final[Mapping[str, int]] = {
    "plain": 51,
    "flaky": 16,
    "late": 6,
    "reset": 6,
    "stall": 3,
    "hint": 4,
    "reject": 3,
    "fail": 5,
    "down": 2,
    "refuse": 2,
    "park": 1,
    "unrouted": 1,
}
_AGGREGATES: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEvent:
    """An event before it is appended. `chance` becomes the last byte of its id: what its targets do depends on it."""

    wants: str
    aggregate_id: str
    text: str
    chance: int


def chance_of(event_id: str) -> int:
    """The last byte of an event's id, from 0 to 255: what its targets do depends on it."""
    return int(event_id[-2:], 16)


def prefix_of(run: str) -> str:
    """What the event types of a run begin with: a run judges its own events only."""
    return f"load.{run}"


def event_mix(rng: Random) -> PlannedEvent:
    """One event of the mix. Its payload has what JSON libraries like to change: spaces, escapes, order, big numbers."""
    wants = rng.choices(list(_SHARES), weights=list(_SHARES.values()))[0]
    number, filler = rng.getrandbits(70), "x" * rng.randrange(0, 600)
    text = f'{{"z": 1,  "a":"ü\\u00e9☃", "z": {number}.10, "filler": "{filler}"}}'
    return PlannedEvent(
        wants=wants, aggregate_id=str(rng.randrange(_AGGREGATES)), text=text, chance=rng.getrandbits(8)
    )
