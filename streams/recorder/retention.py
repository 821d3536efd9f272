"""Which days a log keeps, and so which entries it takes. Pure.

A day is that of the event's commit, for the delivery log, or of a dead letter's death, in UTC, and it is today by
Postgres' clock. An entry of an older day comes from a
delivery that is retried or replayed past the log's retention: its partition is gone, and one made for it would be
dropped within the hour. One from far ahead comes from a row whose `created_at` was made up: a partition for each such
day would fill the catalogue with days that retention never gets to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, Literal

__all__ = ["Retention"]

#: Partitions are made so far ahead. The clock that commits events may run ahead of the one that is asked by so much.
_DAYS_AHEAD: Final = 2
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Retention:
    """So many whole days before today are kept.

    >>> Retention(30).oldest(date(2026, 11, 30))
    datetime.date(2026, 10, 31)
    """

    days: int

    @classmethod
    def of_hours(cls, hours: int) -> Retention:
        """So many whole days that nothing goes before these hours are over, whatever the time of day.

        >>> Retention.of_hours(720).days, Retention.of_hours(1).days
        (30, 1)
        """
        return cls(-(-hours // 24))

    def oldest(self, today: date) -> date:
        """The first day that is kept."""
        return today - self.days * _DAY

    def ahead(self, today: date) -> frozenset[date]:
        """The days that should have their partitions before anything comes for them."""
        return frozenset(today + number * _DAY for number in range(_DAYS_AHEAD + 1))

    def judge(self, created_at: datetime, *, today: date) -> Literal["kept", "too_old", "too_far_ahead"]:
        """Whether an entry is kept."""
        day = created_at.date()
        if day < self.oldest(today):
            return "too_old"
        return "kept" if day <= today + _DAYS_AHEAD * _DAY else "too_far_ahead"
