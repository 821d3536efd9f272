"""A keeper of the delivery log as the recorder makes it, with the clocks that a test wants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.attempt_log import AttemptLog
from streams.recorder.entry import Entry
from streams.recorder.judge import Judge
from streams.recorder.keeper import Keeper
from streams.recorder.retention import Retention
from streams.topics import ATTEMPTS

__all__ = ["a_keeper"]


def a_keeper(
    url: str,
    *,
    retention: Retention,
    period: timedelta | None = timedelta(hours=120),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    monotonic_s: Callable[[], float] = monotonic,
    judge: Judge | None = None,
) -> Keeper[Entry]:
    return Keeper(
        AttemptLog(
            DeliveryLogWriter(url),
            judge=judge or Judge(url, period=period, now=now, monotonic_s=monotonic_s),
            now=now,
        ),
        topic=ATTEMPTS,
        retention=retention,
        monotonic_s=monotonic_s,
    )
