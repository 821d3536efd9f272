"""Where a delivery goes after its turn: nowhere (done), into a retry tier, or into the dead letters."""

from dataclasses import dataclass

from streams.records.delivery import Delivery

__all__ = ["DeadLetter", "Done", "NextHop", "Retry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Nothing more happens to this delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """The delivery waits in a delay lane.

    `due_at_ms` is when the scheduler moves it on; `not_before_ms`, when set, is later than any single lane
    holds, and the scheduler gives it further laps until then. Both are epoch milliseconds.
    """

    delivery: Delivery
    topic: str
    partition: int
    due_at_ms: int
    not_before_ms: int | None
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """The delivery can't succeed; it is kept with the reason."""

    delivery: Delivery
    code: str
    error: str


NextHop = Done | Retry | DeadLetter
