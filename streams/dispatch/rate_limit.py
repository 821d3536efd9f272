"""The rate limit of one endpoint: a token bucket, and a timetable for what it can't serve soon.

Pure; the monotonic clock's reading is passed in, in seconds. Place in the data's way: behind an endpoint's gate, which
is asked before an attempt begins. What always holds: in any stretch of t seconds at most burst + rate × t attempts
begin; the burst is one second's worth, and one at least.

What would wait too long here is booked, one after the other as the rate allows, and waits for that moment in a retry
tier. Whoever comes later is booked behind those, whatever tokens there are meanwhile: else those who wait would starve.
So all of the rate is used, and each delivery comes by a few times, however long the line (docs/adr/0016).
Must not decide what becomes of a delivery.
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
    >>> limit.put_off_s(now_s=0.0, ahead=0, booked_in_s=None, bound_s=1.0, crowded=False)
    >>> [limit.put_off_s(now_s=0.0, ahead=2, booked_in_s=None, bound_s=1.0, crowded=False) for _ in range(3)]
    [1.5, 2.0, 2.5]
    """

    __slots__ = ("_at_s", "_burst", "_line_ends_s", "_per_s", "_tokens")

    def __init__(self, per_s: float, *, now_s: float) -> None:
        self._per_s = per_s
        self._burst = max(1.0, per_s)
        #: So many there were, at that time.
        self._tokens = self._burst
        self._at_s = now_s
        #: What is booked next is booked for then, or later.
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
        self, *, now_s: float, ahead: int, booked_in_s: float | None, bound_s: float, crowded: bool
    ) -> float | None:
        """For when a delivery is booked, in seconds from now, if it can't wait for its token here; None if it can.

        Args:
            now_s: what the clock says.
            ahead: how many wait here.
            booked_in_s: for when it was booked before; None: it was not.
            bound_s: how long one may wait here.
            crowded: those who wait here take more room than is good for others.
        """
        line_s = max(self._line_ends_s - now_s, 0.0)
        hold_s = self.hold_s(now_s=now_s, ahead=ahead)
        # A booking far beyond the line's end is of another time: the rate was raised, or another worker made it.
        if booked_in_s is None or booked_in_s > line_s + bound_s:
            late_s = max(hold_s, line_s)
        elif booked_in_s > bound_s:
            return booked_in_s
        else:
            late_s = hold_s - max(booked_in_s, 0.0)
        if late_s <= bound_s and not (crowded and hold_s):
            return None
        booked_s = max(line_s, hold_s)
        self._line_ends_s = now_s + booked_s + 1.0 / self._per_s
        return booked_s

    def _tokens_at(self, now_s: float) -> float:
        return min(self._burst, self._tokens + (now_s - self._at_s) * self._per_s)
