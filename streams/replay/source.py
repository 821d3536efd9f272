"""Where a replay's deliveries come from: the port that the replayer reads, and the values that go through it.

Place in the data's way: between Kafka's records and the replayer, which knows nothing of what kind of replay it
executes. A kind is a class with these methods; `sources` has the table of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from connectors.postgres.stored_replay import Replay
from streams.records.delivery import Delivery, Unrouted

__all__ = ["Batch", "NotYet", "Sendable", "Source", "Start", "Verdict"]


Sendable = Delivery | Unrouted
"""What a replay sends: a delivery to a target, or an event to whoever wants it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """It may begin: from these offsets to those, so many records in all. `warning` says what it can't reach."""

    begins: Mapping[int, int]
    ends: Mapping[int, int]
    to_read: int
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class NotYet:
    """It may not begin yet: what it waits for, and what to do about it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was read of it next: so many records, of which these are deliveries to make.

    `next_offsets` is where the batch after it begins. `candidates` is how many deliveries the records could have made:
    one each, unless it is said.
    """

    read: int
    deliveries: Sequence[Sendable] = field(repr=False)
    next_offsets: Mapping[int, int]
    candidates: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How it ended, when all was read."""

    status: Literal["done", "failed"]
    error: str | None = None
    warning: str | None = None


class Source(Protocol):
    """One replay's deliveries. Blocking; one thread's.

    All methods may raise `KafkaEdgeError` and `PostgresError` (it is tried again), and `ReplayRefused` (it has failed).
    """

    def plan(self) -> Start | NotYet:
        """Whether it may begin. Asked again until it may; what it has found out by then, it keeps."""
        ...

    def open(self, replay: Replay) -> None:
        """Begin to read, or go on, where its progress says."""
        ...

    def read(self, most: int) -> Batch | None:
        """The next batch, with at most so many deliveries; None when all was read."""
        ...

    def still_due(self, deliveries: Sequence[Sendable]) -> Sequence[Sendable]:
        """Those of a batch that are still to be made, asked right before they are sent."""
        ...

    def verdict(self, replay: Replay) -> Verdict:
        """How it ended."""
        ...

    def close(self) -> None:
        """Read no more."""
        ...
