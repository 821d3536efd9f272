"""What is known of a run after it: plain records, each from a source outside the product where there is one. Pure.

Times are epoch milliseconds of this machine's wall clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from streams.commit.metadata import decode
from tests.support.topics import Committed

__all__ = [
    "Commits",
    "Delivery",
    "Evidence",
    "Fault",
    "Letter",
    "Logged",
    "Partition",
    "Place",
    "Receipt",
    "Resources",
    "Row",
    "Turn",
    "Waiting",
]

Partition = tuple[str, int]
#: An event's id and a target's name, as on the wire: `endpoint:ep_1`, `handler:ledger`.
Delivery = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An event as Postgres has it committed."""

    event_id: str
    type: str
    sha256: str
    created_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """An attempt as its target saw it: a request at the receiver, or a call of a handler.

    `answered_ms` is when the answer began to be given, None when there was none. `signed` is what the
    `standardwebhooks` package says; a handler's call has no signature and counts as signed.
    """

    event_id: str
    target: str
    began_ms: float
    answered_ms: float | None
    ok: bool
    sha256: str
    signed: bool = True

    @property
    def delivery(self) -> Delivery:
        return self.event_id, self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A record of `outbox.attempts`: what the product itself says of a turn."""

    attempt_id: str
    event_id: str
    target: str
    attempt: int
    deferrals: int
    outcome: str
    started_ms: float
    ended_ms: float
    next_ms: float | None
    recorded_ms: float
    status: int | None = None
    buried: bool = False

    @property
    def delivery(self) -> Delivery:
        return self.event_id, self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What the recorder has written in Postgres: the attempts of each id, and the status of each delivery."""

    attempts: Mapping[str, int]
    statuses: Mapping[Delivery, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter. Without a target it is one of the whole event."""

    event_id: str
    target: str | None
    code: str
    appended_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event, or one delivery of it, lies in a topic that a process of ours reads."""

    event_id: str
    target: str | None
    partition: Partition
    offset: int
    appended_ms: float
    due_ms: float | None = None

    def in_hand(self, at_ms: float) -> bool:
        """Could its reader have begun with it by then? What waits in a lane is not begun before it is due."""
        return self.appended_ms <= at_ms and (self.due_ms is None or self.due_ms <= at_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A record that nobody had settled when every process had ended. `due_ms`: of one in a retry topic."""

    event_id: str
    target: str | None
    topic: str
    appended_ms: float
    due_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Commits:
    """What a group had committed of its topics at a moment, settled runs beyond the offset included.

    `of` are the partitions that count: those of the process that a fault hit. None: all of the topics'.
    """

    topics: Collection[str]
    committed: Mapping[Partition, Committed]
    of: frozenset[Partition] | None = None

    def leave_open(self, place: Place) -> bool:
        """Would the partition's next owner read this record again?"""
        counts = place.partition[0] in self.topics if self.of is None else place.partition in self.of
        return counts and not self._cover(place)

    def _cover(self, place: Place) -> bool:
        commit = self.committed.get(place.partition)
        if commit is None:
            return False
        runs = [(0, commit.offset), *decode(commit.offset, commit.metadata)]
        return any(first <= place.offset < end for first, end in runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault as it was done.

    Attributes:
        began_ms: when it began.
        healed_ms: when what it took away was there again, so that recovery could begin: for a killed process,
            whose supervisor starts it at once, that is `began_ms`.
        calm_ms: when all was as before, by the pulse of the run.
        recovery_limit_s: how long recovery may take; None where the fault takes nothing away.
        repeats: what was committed when it struck; None for what must repeat nothing.
        struck_ms: from when to when the crash happened. What had begun before its end and is left open by `repeats` may
            come again after its begin.
        lasting: the system is there all the while, so how late something came counts, not when the fault was over.
        repeats_rows: the connector may read rows again that it had sent.
        poisoned: dead letters without a committed row that it brought about.
        problems: what did not go as this kind of fault has to.
    """

    kind: str
    detail: str
    began_ms: float
    healed_ms: float
    ended_ms: float
    recovery_limit_s: float | None
    calm_ms: float = 0.0
    repeats: Commits | None = None
    struck_ms: tuple[float, float] = (0.0, 0.0)
    lasting: bool = False
    repeats_rows: bool = False
    poisoned: int = 0
    problems: tuple[str, ...] = ()

    def overlaps(self, from_ms: float, to_ms: float) -> bool:
        """Did it last, with what it left behind, within this span?"""
        return self.began_ms <= to_ms and from_ms <= max(self.calm_ms, self.ended_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a process took at the start and at the end of a run."""

    name: str
    rss_mb: tuple[float, float]
    descriptors: tuple[int, int]
    threads: tuple[int, int]
    restarted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the judge is given."""

    rows: Sequence[Row]
    receipts: Sequence[Receipt]
    turns: Sequence[Turn]
    logged: Logged
    letters: Sequence[Letter]
    waiting: Sequence[Waiting]
    places: Sequence[Place]
    faults: Sequence[Fault]
    flowed_ms: float
    ended_ms: float
    workers_started: int
    leaks: Mapping[str, Sequence[str]]
    deaths: Sequence[str]
