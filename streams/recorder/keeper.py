"""The recorder's side towards Postgres: what of a batch is kept, the partitions for it, and a row that is refused.

Place in the data's way: between the consumer (recorder.py) and the log's writer, and before the judge of endpoints.
Invariants: whatever a record holds, it stops nothing: what is not kept is passed over, told with its place, and
counted. A failure of Postgres is raised to the consumer, who tries the whole batch again: that repeats nothing. A
failure to judge endpoints is told, and costs the batch nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import PostgresError, RowRefusedError
from streams.recorder.batch import Place, Read
from streams.recorder.endpoint_turns import endpoint_turns
from streams.recorder.fold import fold
from streams.recorder.judge import Judge
from streams.recorder.retention import Retention
from streams.topics import ATTEMPTS

__all__ = ["Keeper"]

_log = structlog.get_logger("streams.recorder")

_TEND_EVERY_S: Final = timedelta(hours=1).total_seconds()
_PLACES_TOLD: Final = 5


class Keeper:
    """Keeps batches in the delivery log.

    Args:
        writer: the log.
        retention: which days it keeps.
        judge: of the endpoints that the batches speak of.
        now: the time of day.
        monotonic_s: for the hours between two looks at the partitions.
    """

    def __init__(
        self,
        writer: DeliveryLogWriter,
        *,
        retention: Retention,
        judge: Judge,
        now: Callable[[], datetime],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._retention = retention
        self._judge = judge
        self._now = now
        self._monotonic_s = monotonic_s
        self._tend_at_s = monotonic_s()
        self.counts: Counter[str] = Counter()
        """How many records were kept, and how many not, by reason, since the start. A repeated record counts again."""

    def keep(self, reads: Sequence[Read]) -> None:
        """Write what the log keeps of this. When it returns, Postgres has answered, and all of it is there, or told.

        Raises:
            PostgresError: the batch has to be kept again.
        """
        today = self._writer.today()
        by_fate: dict[str, list[Read]] = {}
        for read in reads:
            judged = self._retention.judge(read.entry.created_at, today=today)
            by_fate.setdefault(judged, []).append(read)
        kept = by_fate.pop("kept", [])
        self._write(kept)
        for fate, skipped in by_fate.items():
            self.skip([read.place for read in skipped], reason=fate)

    def tend(self) -> None:
        """Judge the endpoints once a minute; once an hour tend the tables.

        That is: have partitions for the next days, drop those that are over, and what else is too old. Failing costs
        the hour.
        """
        self._judge.look()
        if self._monotonic_s() < self._tend_at_s:
            return
        self._tend_at_s = self._monotonic_s() + _TEND_EVERY_S
        self._judge.tidy()
        try:
            today = self._writer.today()
            self._writer.make_days(self._retention.ahead(today))
            dropped = self._writer.drop_days_before(self._retention.oldest(today))
            pruned = self._writer.prune_audit()
        except PostgresError as error:
            _log.warning("partitions_not_tended", error=str(error), again_in_s=_TEND_EVERY_S)
            return
        if dropped:
            _log.info("partitions_dropped", partitions=" ".join(dropped))
        if pruned:
            _log.info("audit_pruned", count=pruned)

    def skip(self, places: Collection[Place], *, reason: str, error: str | None = None) -> None:
        """Tell, and count, records that are not in the log and will not be."""
        self.counts[reason] += len(places)
        said = {} if error is None else {"error": error}
        _log.warning(
            "records_skipped",
            reason=reason,
            topic=ATTEMPTS,
            count=len(places),
            places=" ".join(map(str, [*places][:_PLACES_TOLD])),
            **said,
        )

    def close(self) -> None:
        """Close the connections to Postgres."""
        self._writer.close()
        self._judge.close()

    def _write(self, reads: Sequence[Read]) -> None:
        """Write them; where Postgres refuses a row, find out which by halves, and pass over that one."""
        if not reads:
            return
        entries = [read.entry for read in reads]
        try:
            seen = self._writer.write(
                [entry.attempt for entry in entries],
                fold(entries),
                endpoint_turns(entries, now=self._now()),
            )
        except RowRefusedError as error:
            if len(reads) == 1:
                self.skip([reads[0].place], reason="refused", error=str(error))
                return
            middle = len(reads) // 2
            self._write(reads[:middle])
            self._write(reads[middle:])
        else:
            self.counts["kept"] += len(reads)
            self._judge.consider(seen)
