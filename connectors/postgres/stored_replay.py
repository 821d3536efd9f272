"""A replay as it stands in Postgres: what was asked for, by whom, and how far it is. Pure.

Place in the data's way: between the rows of `outbox.replays` and whoever shows, asks for or executes replays. The
meaning of a selection is `streams.replay`'s; here it is JSON that is stored and given back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from outbox.event_id import uuid7

__all__ = [
    "COLUMNS",
    "OPEN",
    "NewReplay",
    "Replay",
    "ReplayKind",
    "ReplayStatus",
    "later_replay_id",
    "stored_replay",
]

ReplayKind = Literal["resend", "recovery", "redrive", "range"]
ReplayStatus = Literal["waiting", "running", "done", "stopped", "failed"]

OPEN: Final[tuple[ReplayStatus, ...]] = ("waiting", "running")
"""What a replay is before it has ended."""

COLUMNS: Final = (
    "id, kind, target, selection, rate_per_s, status, requested_by, requested_at, started_at, ended_at, waits_for, "
    "warning, error, events_read, events_to_read, sent, skipped, next_offsets, end_offsets, sent_offsets"
)
_NAMES: Final = COLUMNS.split(", ")
_OFFSETS: Final = ("next_offsets", "end_offsets", "sent_offsets")
_TIME_BITS: Final = 80

Offsets = Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReplay:
    """A replay that somebody asks for. `target` is None where it is for several."""

    kind: ReplayKind
    target: str | None
    selection: Mapping[str, Any] = field(repr=False)
    rate_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay(NewReplay):
    """A replay that is stored.

    Attributes:
        id: a UUIDv7; later replays have greater ids. Deliveries carry it as `outbox-replay-id`.
        waits_for: why a waiting one isn't running.
        warning: what it could not reach.
        error: why it failed.
        events_read: of `events_to_read`, which is None until it has started. Events, or the places that were named.
        skipped: read, and not sent: not wanted, or delivered already.
        next_offsets: per partition where the next batch begins.
        end_offsets: per partition where reading ends; None until it has started.
        sent_offsets: per partition of outbox.redelivery where it ended when the batch under way began.
    """

    id: str
    status: ReplayStatus
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    waits_for: str | None
    warning: str | None
    error: str | None
    events_read: int
    events_to_read: int | None
    sent: int
    skipped: int
    next_offsets: Offsets = field(repr=False)
    end_offsets: Offsets | None = field(repr=False)
    sent_offsets: Offsets | None = field(repr=False)

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do."""
        return self.status in OPEN


def stored_replay(row: tuple[Any, ...]) -> Replay:
    """Read a row of `COLUMNS`."""
    values = dict(zip(_NAMES, row, strict=True))
    for name in _OFFSETS:
        if values[name] is not None:
            values[name] = {int(number): offset for number, offset in values[name].items()}
    for name, value in values.items():
        if name.endswith("_at") and value is not None:
            values[name] = value.astimezone(UTC)
    return Replay(**values)


def later_replay_id(latest: str | None, *, unix_ms: int, random_bits: int) -> str:
    """The id of a new replay: greater than the latest, though its clock may be behind the one that made that.

    >>> first = later_replay_id(None, unix_ms=5, random_bits=1 << 73)
    >>> later_replay_id(first, unix_ms=4, random_bits=0) > first
    True
    """
    # By its text alone: whoever wrote it, only the digits of the time count here.
    latest_ms = -1 if latest is None else int(latest.replace("-", "")[:12], 16)
    return str(uuid7(unix_ms=max(unix_ms, latest_ms + 1), random_bits=random_bits))
