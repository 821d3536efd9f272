"""A keeper as the recorder makes it, with the clocks that a test wants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.judge import Judge
from streams.recorder.keeper import Keeper
from streams.recorder.retention import Retention

__all__ = ["a_keeper"]


def a_keeper(
    url: str,
    *,
    retention: Retention,
    period: timedelta | None = timedelta(hours=120),
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    monotonic_s: Callable[[], float] = monotonic,
) -> Keeper:
    return Keeper(
        DeliveryLogWriter(url),
        retention=retention,
        judge=Judge(url, period=period, now=now, monotonic_s=monotonic_s),
        now=now,
        monotonic_s=monotonic_s,
    )
