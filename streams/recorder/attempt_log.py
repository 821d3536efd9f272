"""The delivery log, as the recorder writes it: what is made of `outbox.attempts`, and of the endpoints it is about.

Place in the data's way: between the keeper and the log's writer, and before the judge of endpoints. A failure to judge
is told, and costs the batch nothing. Must not decide how a delivery stands: that is `fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.endpoint_turns import endpoint_turns
from streams.recorder.entry import Entry
from streams.recorder.fold import fold
from streams.recorder.judge import Judge

__all__ = ["AttemptLog"]


class AttemptLog:
    """The delivery log of one database. Raises what `DeliveryLogWriter` does.

    Args:
        writer: of its tables.
        judge: of the endpoints that the batches speak of.
        now: the time of day.
    """

    def __init__(self, writer: DeliveryLogWriter, *, judge: Judge, now: Callable[[], datetime]) -> None:
        self._writer = writer
        self._judge = judge
        self._now = now

    def today(self) -> date:
        """The day in UTC by the clock of Postgres."""
        return self._writer.today()

    def write(self, entries: Sequence[Entry]) -> None:
        """Write the attempts, and what they make of their deliveries and endpoints; then judge the endpoints."""
        turns = endpoint_turns(entries, now=self._now())
        seen = self._writer.write([entry.attempt for entry in entries], fold(entries), turns)
        self._judge.consider(seen)

    def make_days(self, days: Collection[date]) -> None:
        """Have partitions for these days."""
        self._writer.make_days(days)

    def drop_days_before(self, oldest: date) -> tuple[str, ...]:
        """Drop the partitions of the days before this one, and return their names."""
        return self._writer.drop_days_before(oldest)

    def tend(self) -> None:
        """Have the judge look after all endpoints."""
        self._judge.tend()

    def close(self) -> None:
        """Close the connections."""
        self._writer.close()
        self._judge.close()
