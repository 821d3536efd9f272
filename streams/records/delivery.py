"""A delivery: one event on its way to one target, with the budgets it has used.

The counts travel in the record itself (INV-7), so no crash and no other process can forget them.
"""

from dataclasses import dataclass

from outbox.event import Event
from streams.records.target import TargetName

__all__ = ["Delivery", "Origin", "Unrouted"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the event was first read: topic, partition, offset. Kept through every hop, for provenance and ordering."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        """The form of the `outbox-origin` header: `topic/partition/offset`."""
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event × one target.

    `attempt` is the number of the attempt to be made next (1-based). `deferrals` counts the waits that cost no attempt.
    `first_failed_at_ms` starts the age budget: the first failure or deferral, in epoch milliseconds. `booked_for_ms` is
    for when a rate limit has booked the next attempt, if one has, and none has been made since. `held_since_ms` is when
    the flood guard first held it, if it did.
    """

    event: Event
    target: TargetName
    origin: Origin
    attempt: int = 1
    deferrals: int = 0
    first_failed_at_ms: int | None = None
    replay_id: str | None = None
    booked_for_ms: int | None = None
    held_since_ms: int | None = None

    def anew(self, replay_id: str) -> "Delivery":
        """The same delivery as a replay makes it: its first attempt, with nothing used of its budgets."""
        return Delivery(event=self.event, target=self.target, origin=self.origin, replay_id=replay_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrouted:
    """An event that no target wanted, on its way back: each target that wants it now has a delivery of it.

    It is no delivery, and has used no budget. `replay_id` says which redrive sent it.
    """

    event: Event
    origin: Origin
    replay_id: str
