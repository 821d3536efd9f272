"""What was seen from outside: what the database committed, what receivers and handlers got, what stands in the topics.

The witnesses append to it while the demo runs; nobody changes or removes anything. The processor's own claims
(`outbox.attempts`) are in here beside what was really received, so that they can be compared.
"""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["AttemptRecord", "Call", "Committed", "DeadLetter", "Evidence", "Parked", "Receipt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """An event whose transaction was committed. `at_ns` is the monotonic clock when the commit returned."""

    event_id: str
    type: str
    payload: bytes
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One request that a receiver got. `at_ns` is the monotonic clock when its head was read."""

    target: str
    event_id: str
    body: bytes
    status: int
    signed: bool
    at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a handler, as the handler itself noted it."""

    target: str
    event_id: str
    body_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record of `outbox.dead-letter`. `target` is None where nobody wanted the event."""

    event_id: str
    target: str | None
    code: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A record of a retry topic. `attempt` is the one that it waits for."""

    event_id: str
    target: str
    attempt: int
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """A record of `outbox.attempts`: one turn of a delivery, as the worker tells it."""

    event_id: str
    target: str
    attempt: int
    outcome: str
    next: str


@dataclass(slots=True)
class Evidence:
    """All that was seen so far, each kind in the order of its arrival."""

    committed: list[Committed] = field(default_factory=list)
    rolled_back: set[str] = field(default_factory=set)
    """The ids of events whose transactions were rolled back."""
    orders_stored: int | None = None
    """Rows in the shop's own table at the end; None before."""
    receipts: list[Receipt] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    parked: list[Parked] = field(default_factory=list)
    attempts: list[AttemptRecord] = field(default_factory=list)

    def successes(self) -> Counter[tuple[str, str]]:
        """How often each (event, endpoint) was answered with a success: what the outside knows as delivered."""
        return Counter(
            (receipt.event_id, receipt.target)
            for receipt in self.receipts
            if 200 <= receipt.status < 300  # noqa: PLR2004 - only 2xx is success
        )
