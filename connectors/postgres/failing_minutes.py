"""The minutes in which attempts at an endpoint failed: a set, as bits. Pure.

Place in the data's way: part of an endpoint's health. A set of minutes and not the time of a first failure, because
records come late, twice and in any order: when a success turns up that lies among the failures, the first failure
after it must still be known. The union of sets doesn't ask in which order it is made; five days of failures are 900
bytes (docs/adr/0017).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from connectors.epoch import EPOCH

__all__ = ["LONGEST_KNOWN", "NO_MINUTES", "FailingMinutes", "minute_of"]

LONGEST_KNOWN: Final = timedelta(days=31)
"""What lies further back than this from the newest failure is forgotten."""

_MINUTE: Final = timedelta(minutes=1)
_KNOWN: Final = LONGEST_KNOWN // _MINUTE


def minute_of(at: datetime) -> int:
    """The number of the minute, from 1970 on."""
    return (at - EPOCH) // _MINUTE


@dataclass(frozen=True, slots=True)
class FailingMinutes:
    """Bit 0 is the minute `first`, and is set, unless there is none at all.

    >>> at = datetime.fromisoformat("2026-11-30T22:05:59Z")
    >>> minutes = FailingMinutes.of_minutes({minute_of(at), minute_of(at) + 3})
    >>> minutes.count, minutes.begin == at.replace(second=0), minutes.after(minute_of(at)).count
    (2, True, 1)
    """

    first: int = 0
    bits: int = 0

    @classmethod
    def of_minutes(cls, minutes: Iterable[int]) -> Self:
        """These minutes, but for those that are too long ago."""
        found = sorted(minutes)
        if not found:
            return cls()
        known = [minute for minute in found if minute > found[-1] - _KNOWN]
        bits = 0
        for minute in known:
            bits |= 1 << (minute - known[0])
        return cls(known[0], bits)

    @classmethod
    def of_bytes(cls, first: int, written: bytes) -> Self:
        """As `to_bytes` has written it."""
        return cls(first, int.from_bytes(written, "little"))

    def to_bytes(self) -> bytes:
        """The bits, the first minute's lowest."""
        return self.bits.to_bytes((self.bits.bit_length() + 7) // 8, "little")

    def __bool__(self) -> bool:
        return self.bits != 0

    def __or__(self, other: Self) -> Self:
        """All minutes of both, but for those that are too long ago."""
        if not self or not other:
            return self or other
        oldest = max(self._last, other._last) - _KNOWN
        mine, others = self.after(oldest), other.after(oldest)
        if not mine or not others:
            return mine or others
        first = min(mine.first, others.first)
        return type(self)(first, mine.bits << (mine.first - first) | others.bits << (others.first - first))

    def after(self, minute: int) -> Self:
        """Those that come later than a minute."""
        if not self or minute < self.first:
            return self
        left = self.bits >> (minute + 1 - self.first)
        if not left:
            return type(self)()
        skipped = (left & -left).bit_length() - 1
        return type(self)(minute + 1 + skipped, left >> skipped)

    @property
    def begin(self) -> datetime | None:
        """When the first of them began; None if there is none."""
        return EPOCH + self.first * _MINUTE if self else None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.bits.bit_count()

    @property
    def _last(self) -> int:
        return self.first + self.bits.bit_length() - 1


NO_MINUTES: Final = FailingMinutes()
