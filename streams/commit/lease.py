"""The lease: until when the group surely counts this worker as a member.

A process that was frozen (SIGSTOP, a stalled machine) wakes up with records in its memory whose partitions
may long be somebody else's. The broker gives them away one session timeout after the last heartbeat that it
heard, so an attempt may begin only within a session timeout of sending a heartbeat that was answered.

Renewed in the consumer's thread, read on the agent's loop: one float, written whole.
"""

from collections.abc import Callable

__all__ = ["Lease"]


class Lease:
    """Renewed by every answered heartbeat.

    Args:
        session_s: the group's session timeout.
        monotonic_s: the clock, in seconds.
    """

    __slots__ = ("_held_until_s", "_monotonic_s", "_session_s")

    def __init__(self, *, session_s: float, monotonic_s: Callable[[], float]) -> None:
        self._session_s = session_s
        self._monotonic_s = monotonic_s
        self._held_until_s = 0.0

    def now_s(self) -> float:
        """When a heartbeat is about to be sent: what `renew` takes."""
        return self._monotonic_s()

    def renew(self, *, asked_at_s: float) -> None:
        """A heartbeat that was sent at this time was answered."""
        self._held_until_s = asked_at_s + self._session_s

    def held(self) -> bool:
        """May an attempt begin?"""
        return self._monotonic_s() < self._held_until_s
