"""An endpoint's health: what its attempts say of it, and what was told and done about that. Pure.

Place in the data's way: folded by the recorder from the attempt records of a batch, joined with what Postgres has, read
by the API, the command line and whoever judges. What attempts say is joined by the greatest of times and the union of
sets, so it is the same in whatever order, batches and repetitions the records come (docs/adr/0017). Holds no URL, and
nothing that the receiver wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, Self

from connectors.postgres.failing_minutes import NO_MINUTES, FailingMinutes, minute_of

__all__ = [
    "NOTICE",
    "DisabledReason",
    "EndpointHealth",
    "EndpointSigns",
    "EndpointTurn",
    "HealthState",
    "JudgedEndpoint",
]

NOTICE: Final = 0.1
"""The part of the period that lies between the first warning and the end, whenever the first one came."""

HealthState = Literal["ok", "failing", "idle"]
DisabledReason = Literal["gone", "failing"]


class EndpointTurn(NamedTuple):
    """An attempt that was made and answered, or got no answer. `error` is None for one that succeeded.

    `error` is short and of our own words; `gone` says that the answer was 410.
    """

    endpoint_id: str
    at: datetime
    attempt_id: str
    error: str | None
    http_status: int | None
    gone: bool

    @property
    def place(self) -> tuple[datetime, str]:
        """By which of two the later is found: the time, and in one moment the id."""
        return self.at, self.attempt_id


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSigns:
    """What attempts say of an endpoint. All times are when attempts began, by the workers' clocks.

    Attributes:
        failing: the minutes with failures, later than the minute of the last success.
        gone_at: when an attempt began, the latest, that was answered with 410.
    """

    last_success_at: datetime | None = None
    last_failure: EndpointTurn | None = None
    failing: FailingMinutes = NO_MINUTES
    gone_at: datetime | None = None

    @classmethod
    def of(cls, turns: Iterable[EndpointTurn], *, since: datetime) -> Self:
        """What turns of one endpoint say that began after `since`."""
        last_success_at, gone_at, last_failure = None, None, None
        minutes: set[int] = set()
        for turn in turns:
            if turn.at <= since:
                continue
            if turn.error is None:
                last_success_at = _later(last_success_at, turn.at)
                continue
            minutes.add(minute_of(turn.at))
            last_failure = _greater(last_failure, turn)
            if turn.gone:
                gone_at = _later(gone_at, turn.at)
        if last_success_at is not None:
            good = minute_of(last_success_at)
            minutes = {minute for minute in minutes if minute > good}
        return cls(
            last_success_at=last_success_at,
            last_failure=last_failure,
            failing=FailingMinutes.of_minutes(minutes),
            gone_at=gone_at,
        )

    def joined(self, other: EndpointSigns) -> Self:
        """What both say together."""
        last_success_at = _later(self.last_success_at, other.last_success_at)
        failing = self.failing | other.failing
        if last_success_at is not None:
            failing = failing.after(minute_of(last_success_at))
        return replace(
            self,
            last_success_at=last_success_at,
            last_failure=_greater(self.last_failure, other.last_failure),
            failing=failing,
            gone_at=_later(self.gone_at, other.gone_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointHealth:
    """A row of `outbox.endpoint_health`.

    Attributes:
        counted_from: attempts that began earlier count for nothing: when the endpoint was made, enabled, or moved to
            another URL.
        failing_since: when it began to fail and do nothing else, to the minute; None if its last attempt succeeded.
        warnings: how many steps of warning were told of the failing that began at `warned_since`, the last `warned_at`.
        disabled_reason: why it was disabled automatically; None if it wasn't, or was enabled since.
    """

    endpoint_id: str
    counted_from: datetime
    signs: EndpointSigns = EndpointSigns()
    failing_since: datetime | None = None
    warnings: int = 0
    warned_since: datetime | None = None
    warned_at: datetime | None = None
    disabled_reason: DisabledReason | None = None
    disabled_at: datetime | None = None

    def after(self, turns: Iterable[EndpointTurn]) -> Self:
        """The health after these turns of the endpoint."""
        signs = self.signs.joined(EndpointSigns.of(turns, since=self.counted_from))
        return replace(self, signs=signs, failing_since=self._failing_since(signs))

    def _failing_since(self, signs: EndpointSigns) -> datetime | None:
        begin, failure = signs.failing.begin, signs.last_failure
        if begin is not None:
            return max(begin, self.counted_from)
        # In the minute of the last success, it is failing while the last that is known of it is a failure.
        last = max(signs.last_success_at or self.counted_from, self.counted_from)
        return failure.at if failure is not None and failure.at > last else None

    @property
    def state(self) -> HealthState:
        """In a word. Idle: nothing was tried since `counted_from`."""
        if self.failing_since is not None:
            return "failing"
        last = self.signs.last_success_at
        return "idle" if last is None or last <= self.counted_from else "ok"

    @property
    def warnings_told(self) -> int:
        """The steps of warning that were told of the present failing: none of one before the last success."""
        last = self.signs.last_success_at
        if self.warned_since is None or (last is not None and last >= self.warned_since):
            return 0
        return self.warnings

    def disables_at(self, period: timedelta | None) -> datetime | None:
        """From when on a further failure disables it; None: never, as it stands. `period` None: no failure does."""
        if not period or self.failing_since is None or self.disabled_at is not None:
            return None
        end = self.failing_since + period
        if self.warnings_told and self.warned_at is not None:
            end = max(end, self.warned_at + period * NOTICE)
        return end


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedEndpoint:
    """An endpoint, as far as a judgement needs it: its health, whether it is enabled, and when it was changed last."""

    enabled: bool
    changed_at: datetime
    health: EndpointHealth


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    if one is None or other is None:
        return one or other
    return max(one, other)


def _greater(one: EndpointTurn | None, other: EndpointTurn | None) -> EndpointTurn | None:
    if one is None or other is None:
        return one or other
    return other if other.place > one.place else one
