"""The rate limit of one endpoint: a token bucket, and a timetable for what it can't serve soon.

Pure; the monotonic clock's reading is passed in, in seconds. Place in the data's way: one of the gates that are asked
before an attempt begins. What always holds: in any stretch of t seconds at most burst + rate × t attempts begin, the
burst being one second's worth, and one at least.

What would wait too long here is given a turn, one after the other as the rate allows, and waits for it in a retry tier.
Whoever comes later gets a turn behind those, whatever tokens there are meanwhile: else those who wait would starve. So
a tier is left when a token is there, the rate is made full use of, and each delivery comes by a few times, however long
the line (docs/adr/0016). Must not decide what becomes of a delivery.
"""

from typing import Final

__all__ = ["RateLimit"]

#: Of a token: what floating point may be short of.
_NEARLY: Final = 1e-9


class RateLimit:
    """So many attempts a second. Full at first.

    >>> limit = RateLimit(2.0, now_s=0.0)
    >>> (
    ...     limit.took(now_s=0.0),
    ...     limit.took(now_s=0.0),
    ...     limit.hold_s(now_s=0.0),
    ...     limit.hold_s(now_s=0.0, ahead=3),
    ... )
    (None, None, 0.5, 2.0)
    >>> limit.put_off_s(now_s=0.0, ahead=0, turn_in_s=None, bound_s=1.0, crowded=False)
    >>> [limit.put_off_s(now_s=0.0, ahead=2, turn_in_s=None, bound_s=1.0, crowded=False) for _ in range(3)]
    [1.5, 2.0, 2.5]
    """

    __slots__ = ("_at_s", "_burst", "_line_ends_s", "_per_s", "_tokens")

    def __init__(self, per_s: float, *, now_s: float) -> None:
        self._per_s = per_s
        self._burst = max(1.0, per_s)
        #: So many there were, at that time.
        self._tokens = self._burst
        self._at_s = now_s
        #: The turn that is given next.
        self._line_ends_s = now_s

    def change(self, per_s: float, *, now_s: float) -> None:
        """Another rate from now on. Who is in line stays in line, and has so many before it as it had."""
        in_line = max(self._line_ends_s - now_s, 0.0) * self._per_s
        tokens = self._tokens_at(now_s)
        self._per_s = per_s
        self._burst = max(1.0, per_s)
        self._tokens = min(tokens, self._burst)
        self._at_s = now_s
        self._line_ends_s = now_s + in_line / per_s

    def hold_s(self, *, now_s: float, ahead: int = 0) -> float:
        """For how long the next may not begin, once `ahead` others have."""
        lacking = 1.0 + ahead - self._tokens_at(now_s)
        return lacking / self._per_s if lacking > _NEARLY else 0.0

    def took(self, *, now_s: float) -> None:
        """An attempt begins."""
        self._tokens = self._tokens_at(now_s) - 1.0
        self._at_s = now_s

    def put_off_s(
        self, *, now_s: float, ahead: int, turn_in_s: float | None, bound_s: float, crowded: bool
    ) -> float | None:
        """In how many seconds it is this one's turn, if it can't wait for it here; None if it can.

        Args:
            now_s: what the clock says.
            ahead: how many wait here.
            turn_in_s: when its turn is, if it was given one.
            bound_s: how long one may wait here.
            crowded: those who wait here take more room than is good for others.
        """
        line_s = max(self._line_ends_s - now_s, 0.0)
        hold_s = self.hold_s(now_s=now_s, ahead=ahead)
        # A turn far beyond the line's end is of another time: the rate was raised, or another worker gave it.
        if turn_in_s is None or turn_in_s > line_s + bound_s:
            late_s = max(hold_s, line_s)
        elif turn_in_s > bound_s:
            return turn_in_s
        else:
            late_s = hold_s - max(turn_in_s, 0.0)
        if late_s <= bound_s and not (crowded and hold_s):
            return None
        turn_s = max(line_s, hold_s)
        self._line_ends_s = now_s + turn_s + 1.0 / self._per_s
        return turn_s

    def _tokens_at(self, now_s: float) -> float:
        return min(self._burst, self._tokens + (now_s - self._at_s) * self._per_s)
