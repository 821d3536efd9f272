"""What a set of durations says: quantiles, with those that never ended counted too. Pure.

A delivery that hadn't arrived when the measurement stopped is not left out, or a system that falls behind
would look fast by what it never delivered. It counts with the time it had waited by then, and a quantile that
may rest on one is marked as a lower bound.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

__all__ = ["Distribution", "Quantile"]

_MANY_MS = 100


@dataclass(frozen=True, slots=True)
class Quantile:
    """One quantile, in milliseconds; `is_lower_bound` if the true one may be larger."""

    value_ms: float
    is_lower_bound: bool

    def __str__(self) -> str:
        """Show it as a table does.

        >>> str(Quantile(8.24, False)), str(Quantile(48_123.0, True))
        ('8.2', '≥ 48,123')
        """
        digits = f"{self.value_ms:.1f}" if abs(self.value_ms) < _MANY_MS else f"{self.value_ms:,.0f}"
        return f"≥ {digits}" if self.is_lower_bound else digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """All durations in ascending order, unended ones with what they had taken; and those that ended, likewise."""

    ascending_ms: tuple[float, ...]
    ended_ms: tuple[float, ...]
    shortest_unended_ms: float

    @classmethod
    def of(cls, ended_ms: Iterable[float], unended_ms: Iterable[float] = ()) -> Self:
        """Make one of the durations that ended, and of how long the others have taken so far.

        >>> Distribution.of([3.0, 1.0, 2.0]).quantile(0.5)
        Quantile(value_ms=2.0, is_lower_bound=False)
        """
        ended, waiting = sorted(ended_ms), tuple(unended_ms)
        return cls(
            ascending_ms=tuple(sorted((*ended, *waiting))),
            ended_ms=tuple(ended),
            shortest_unended_ms=min(waiting, default=math.inf),
        )

    @classmethod
    def together(cls, parts: Iterable[Self]) -> Self:
        """Make one of several.

        >>> len(Distribution.together([Distribution.of([1.0]), Distribution.of([3.0], [2.0])]))
        3
        """
        held = tuple(parts)
        return cls(
            ascending_ms=tuple(sorted(one for part in held for one in part.ascending_ms)),
            ended_ms=tuple(sorted(one for part in held for one in part.ended_ms)),
            shortest_unended_ms=min((part.shortest_unended_ms for part in held), default=math.inf),
        )

    def __len__(self) -> int:
        """How many durations, ended or not."""
        return len(self.ascending_ms)

    @property
    def unended(self) -> int:
        """How many had not ended."""
        return len(self.ascending_ms) - len(self.ended_ms)

    def quantile(self, share: float) -> Quantile:
        """Give the smallest duration that at least this share of all does not exceed (nearest rank).

        Raises:
            ValueError: there are none, or the share is not within (0, 1].
        """
        if not 0 < share <= 1:
            raise ValueError(f"a quantile's share is within (0, 1], not {share}")
        if not self.ascending_ms:
            raise ValueError("no durations, no quantile")
        # Rounded first: 0.07 * 100 is a little more than 7, and its ceiling would be 8.
        rank = math.ceil(round(share * len(self.ascending_ms), 9))
        value_ms = self.ascending_ms[rank - 1]
        return Quantile(value_ms, is_lower_bound=value_ms >= self.shortest_unended_ms)

    def cells(self) -> tuple[str, str, str, str]:
        """Give p50, p90, p99 and the largest as a table's cells; dashes where there is nothing."""
        if not self.ascending_ms:
            return ("–", "–", "–", "–")
        p50, p90, p99, most = (str(self.quantile(share)) for share in (0.5, 0.9, 0.99, 1.0))
        return (p50, p90, p99, most)
