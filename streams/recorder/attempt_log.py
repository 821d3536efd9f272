"""The delivery log, as the recorder writes it: what is made of `outbox.attempts`.

Place in the data's way: between the keeper and the log's writer. Must not decide how a delivery stands: that is `fold`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.entry import Entry
from streams.recorder.fold import fold

__all__ = ["AttemptLog"]


class AttemptLog:
    """The delivery log of one database. Raises what `DeliveryLogWriter` does."""

    def __init__(self, writer: DeliveryLogWriter) -> None:
        self._writer = writer

    def today(self) -> date:
        """The day in UTC by the clock of Postgres."""
        return self._writer.today()

    def write(self, entries: Sequence[Entry]) -> None:
        """Write the attempts, and what they make of their deliveries."""
        self._writer.write([entry.attempt for entry in entries], fold(entries))

    def make_days(self, days: Collection[date]) -> None:
        """Have partitions for these days."""
        self._writer.make_days(days)

    def drop_days_before(self, oldest: date) -> tuple[str, ...]:
        """Drop the partitions of the days before this one, and return their names."""
        return self._writer.drop_days_before(oldest)

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()
