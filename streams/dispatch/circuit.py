"""The circuit of one endpoint: whether it is worth trying at all. Pure; the monotonic clock's reading is passed in.

Place in the data's way: asked before an attempt begins, told how it ended. While the circuit is open no attempt is
made: deliveries are deferred, which costs them no attempt. So an endpoint that is down is neither hammered by all that
waits for it, nor given room in the worker that others could use (INV-6). What always holds: at most one attempt at a
time while it is not closed, and the pauses between them double up to a minute.

    closed     every attempt may begin; it opens when it has failed for some seconds: all attempts, or nearly all
    open       none may, for a while
    half-open  a few may, one at a time, the probes: one taken, it closes; all failed, it opens for twice as long

An endpoint that fails at first and takes the retry is not down, however many deliveries come at once: only time
tells. What fails is an attempt that may be repeated: a refusal for good is an answer, from an endpoint that is there.
Must not decide what becomes of a delivery.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["Begun", "Circuit"]

#: So long it must have failed, from when the first attempt of a row began.
_FOR_S: Final = 5.0
#: So many failures in a row are enough; so many at once, however short the time.
_ROW: Final = 10
_BURST: Final = 100
#: So many probes before it opens again: an endpoint that takes a third of what it gets is not down.
_PROBES: Final = 5
#: So many attempts say what share of them fails, each counting half as much after every half-life.
_ENOUGH: Final = 20.0
_SHARE: Final = 0.8
_HALF_LIFE_S: Final = 10.0
_FIRST_PAUSE_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 60.0
#: A probe that has just begun may end at once.
_SHORT_S: Final = 0.01


class Begun(NamedTuple):
    """An attempt that began: in which time of which circuit, and when."""

    era: object
    at_s: float


class Circuit:
    """Closed at first.

    Args:
        on_change: told for how long it is open now; 0 when it closes.

    >>> changes = []
    >>> circuit = Circuit(on_change=changes.append)
    >>> for second in range(10):
    ...     circuit.ended(circuit.began(now_s=second), failed=True, now_s=second)
    >>> circuit.hold_s(now_s=10), circuit.hold_s(now_s=14)
    (4.0, 0.0)
    >>> circuit.ended(circuit.began(now_s=14), failed=False, now_s=15)
    >>> circuit.closed, changes
    (True, [5.0, 0.0])
    """

    __slots__ = (
        "_era",
        "_failed",
        "_failing_since_s",
        "_mostly_since_s",
        "_on_change",
        "_opened",
        "_probe_began_s",
        "_probed_in_vain",
        "_row",
        "_taken",
        "_told_at_s",
        "_until_s",
    )

    def __init__(self, *, on_change: Callable[[float], None]) -> None:
        self._on_change = on_change
        self._until_s: float | None = None
        #: Attempts that began before it opened or closed last say nothing any more.
        self._era = object()
        self._row = 0
        self._failing_since_s = 0.0
        #: Since when nearly all fail; None while they don't.
        self._mostly_since_s: float | None = None
        self._taken = 0.0
        self._failed = 0.0
        self._told_at_s = 0.0
        #: How often it has opened since it was closed.
        self._opened = 0
        self._probe_began_s: float | None = None
        self._probed_in_vain = 0

    @property
    def closed(self) -> bool:
        """May every attempt begin?"""
        return self._until_s is None

    def hold_s(self, *, now_s: float) -> float:
        """For how long no attempt may begin; 0 if one may now. While a probe runs: as long again as it has taken."""
        if self._until_s is None:
            return 0.0
        if now_s < self._until_s:
            return self._until_s - now_s
        return 0.0 if self._probe_began_s is None else max(now_s - self._probe_began_s, _SHORT_S)

    def away_s(self, *, now_s: float) -> float:
        """For how long who can't wait for `hold_s` had better stay away: while a probe runs, as if it failed."""
        return self.hold_s(now_s=now_s) if self._probe_began_s is None else self._pause_s()

    def began(self, *, now_s: float) -> Begun:
        """An attempt begins. Returns what `ended` is to be told with it."""
        if self._until_s is not None:
            self._probe_began_s = now_s
        return Begun(self._era, now_s)

    def ended(self, begun: Begun, *, failed: bool | None, now_s: float) -> None:
        """An attempt ended; None: it was cut off, and nothing is known."""
        if begun.era is not self._era:
            return
        if self._until_s is not None:
            self._probe_began_s = None
            if failed is not None:
                self._probed(failed=failed, now_s=now_s)
        elif failed is not None:
            self._count(begun, failed=failed, now_s=now_s)

    def _probed(self, *, failed: bool, now_s: float) -> None:
        if failed:
            self._probed_in_vain += 1
            if self._probed_in_vain == _PROBES:
                self._open(now_s=now_s)
            return
        self._until_s = None
        self._era = object()
        self._opened = 0
        self._on_change(0.0)

    def _count(self, begun: Begun, *, failed: bool, now_s: float) -> None:
        fade = 0.5 ** ((now_s - self._told_at_s) / _HALF_LIFE_S)
        self._taken, self._failed, self._told_at_s = self._taken * fade, self._failed * fade, now_s
        if not failed:
            self._taken += 1
            self._row = 0
        else:
            self._failed += 1
            self._row += 1
            self._failing_since_s = begun.at_s if self._row == 1 else min(self._failing_since_s, begun.at_s)
        of_all = self._taken + self._failed
        if of_all < _ENOUGH or self._failed < _SHARE * of_all:
            self._mostly_since_s = None
        elif self._mostly_since_s is None:
            self._mostly_since_s = now_s
        in_a_row = self._row >= _ROW and now_s - self._failing_since_s >= _FOR_S
        mostly = self._mostly_since_s is not None and now_s - self._mostly_since_s >= _FOR_S
        if failed and (in_a_row or mostly or self._row >= _BURST):
            self._open(now_s=now_s)

    def _open(self, *, now_s: float) -> None:
        pause_s = self._pause_s()
        self._until_s = now_s + pause_s
        self._era = object()
        self._opened += 1
        self._probed_in_vain = 0
        self._row, self._taken, self._failed, self._mostly_since_s = 0, 0.0, 0.0, None
        self._on_change(pause_s)

    def _pause_s(self) -> float:
        return min(_FIRST_PAUSE_S * (1 << min(self._opened, 10)), _LONGEST_PAUSE_S)
