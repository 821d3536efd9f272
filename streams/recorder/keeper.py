"""The recorder's side towards Postgres: what of a batch is kept, the partitions for it, and a row that is refused.

Place in the data's way: between the consumer (recorder.py) and the log's tables, which are another for each topic that
is recorded. Invariants: whatever a record holds,
it stops nothing: what is not kept is passed over, told with its place, and counted. A failure of Postgres is raised
to the consumer, who tries the whole batch again: that repeats nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from typing import Final, Generic, Protocol, TypeVar

import structlog

from connectors.postgres.errors import PostgresError, RowRefusedError
from streams.recorder.batch import Dated, Place, Read
from streams.recorder.retention import Retention

__all__ = ["Keeper", "Log"]

_log = structlog.get_logger("streams.recorder")

_TEND_EVERY_S: Final = timedelta(hours=1).total_seconds()
_PLACES_TOLD: Final = 5


E = TypeVar("E", bound=Dated)
E_contra = TypeVar("E_contra", bound=Dated, contravariant=True)


class Log(Protocol[E_contra]):
    """The tables of one topic, in partitions by day. All methods raise PostgresError."""

    def today(self) -> date:
        """The day in UTC by the clock of Postgres."""
        ...

    def write(self, entries: Sequence[E_contra]) -> None:
        """Write a batch, all of it or nothing; RowRefusedError if Postgres can't store one of them."""
        ...

    def make_days(self, days: Collection[date]) -> None:
        """Have partitions for these days."""
        ...

    def drop_days_before(self, oldest: date) -> tuple[str, ...]:
        """Drop the partitions of the days before this one, and return their names."""
        ...

    def close(self) -> None:
        """Close the connection. It would be opened again."""
        ...


class Keeper(Generic[E]):
    """Keeps batches in a log.

    Args:
        log: its tables.
        topic: what they are of.
        retention: which days it keeps.
        monotonic_s: for the hours between two looks at the partitions.
    """

    def __init__(
        self, log: Log[E], *, topic: str, retention: Retention, monotonic_s: Callable[[], float]
    ) -> None:
        self._log = log
        self._topic = topic
        self._retention = retention
        self._monotonic_s = monotonic_s
        self._tend_at_s = monotonic_s()
        self.counts: Counter[str] = Counter()
        """How many records were kept, and how many not, by reason, since the start. A repeated record counts again."""

    def keep(self, reads: Sequence[Read[E]]) -> None:
        """Write what the log keeps of this. When it returns, Postgres has answered, and all of it is there, or told.

        Raises:
            PostgresError: the batch has to be kept again.
        """
        today = self._log.today()
        by_fate: dict[str, list[Read[E]]] = {}
        for read in reads:
            judged = self._retention.judge(read.entry.dated_at, today=today)
            by_fate.setdefault(judged, []).append(read)
        kept = by_fate.pop("kept", [])
        self._write(kept)
        for fate, skipped in by_fate.items():
            self.skip([read.place for read in skipped], reason=fate)

    def tend(self) -> None:
        """Once an hour: have partitions for the next days, and drop those that are over. Failing costs the hour."""
        if self._monotonic_s() < self._tend_at_s:
            return
        self._tend_at_s = self._monotonic_s() + _TEND_EVERY_S
        try:
            today = self._log.today()
            self._log.make_days(self._retention.ahead(today))
            dropped = self._log.drop_days_before(self._retention.oldest(today))
        except PostgresError as error:
            _log.warning(
                "partitions_not_tended", topic=self._topic, error=str(error), again_in_s=_TEND_EVERY_S
            )
            return
        if dropped:
            _log.info("partitions_dropped", topic=self._topic, partitions=" ".join(dropped))

    def skip(self, places: Collection[Place], *, reason: str, error: str | None = None) -> None:
        """Tell, and count, records that are not in the log and will not be."""
        self.counts[reason] += len(places)
        said = {} if error is None else {"error": error}
        _log.warning(
            "records_skipped",
            reason=reason,
            topic=self._topic,
            count=len(places),
            places=" ".join(map(str, [*places][:_PLACES_TOLD])),
            **said,
        )

    def close(self) -> None:
        """Close the connection to Postgres."""
        self._log.close()

    def _write(self, reads: Sequence[Read[E]]) -> None:
        """Write them; where Postgres refuses a row, find out which by halves, and pass over that one."""
        if not reads:
            return
        try:
            self._log.write([read.entry for read in reads])
        except RowRefusedError as error:
            if len(reads) == 1:
                self.skip([reads[0].place], reason="refused", error=str(error))
                return
            middle = len(reads) // 2
            self._write(reads[:middle])
            self._write(reads[middle:])
        else:
            self.counts["kept"] += len(reads)
