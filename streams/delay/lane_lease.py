"""The lease on the lanes: whether they are surely still this scheduler's. Pure; time is passed in.

Place in the data's way: nothing is moved without it. A scheduler that was frozen, or cut off from its group, doesn't
hear that its lanes went to another one, who moves the same records. What it can do is ask: the group accepts a commit
from a member only, and has heard from it then. So an accepted commit is a lease, for half a session from when it was
sent; the other half is for what was sent on until then and is still on its way.

An assignment begins without one. Commits that say something new are questions as well; where there are none, one lane's
last commit is made again. An answer belongs to the question that said the same: one that is lost costs a moment.
"""

from collections.abc import Callable, Hashable
from typing import Final

from streams.commit.lease import Lease

__all__ = ["LaneLease"]

_MOST_UNANSWERED: Final = 1_000


class LaneLease:
    """Asked with each commit, renewed by each that is accepted.

    Args:
        session_s: the group's session timeout.
        monotonic_s: the clock, in seconds.
    """

    def __init__(self, *, session_s: float, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._lasts_s = session_s / 2
        self._lease = Lease(session_s=self._lasts_s, monotonic_s=monotonic_s)
        #: What was asked and not answered, and when it was asked first.
        self._unanswered: dict[Hashable, float] = {}
        self._asked_at_s: float | None = None

    def held(self) -> bool:
        """May a record be moved?"""
        return self._lease.held()

    def begin(self) -> None:
        """Other lanes, or none: what was asked before says nothing of them."""
        self._lease = Lease(session_s=self._lasts_s, monotonic_s=self._monotonic_s)
        self._unanswered = {}
        self._asked_at_s = None

    def must_ask(self) -> bool:
        """Is it time to ask, whether or not there is something new to commit? So that it never runs out unasked."""
        return self._asked_at_s is None or self._monotonic_s() - self._asked_at_s >= self._lasts_s / 3

    def must_wait(self) -> bool:
        """Is an answer on its way? Not for ever: one that has not come by the end of a lease may never come."""
        return (
            self._asked_at_s is not None and bool(self._unanswered) and not self._given_up(self._asked_at_s)
        )

    def _given_up(self, asked_at_s: float) -> bool:
        return self._monotonic_s() - asked_at_s >= self._lasts_s

    def asked(self, question: Hashable) -> None:
        """A commit is about to be sent; `question` is what it says."""
        self._asked_at_s = self._monotonic_s()
        if len(self._unanswered) >= _MOST_UNANSWERED:
            self._unanswered.clear()
        self._unanswered.setdefault(question, self._asked_at_s)

    def answered(self, question: Hashable, *, accepted: bool) -> None:
        """A question was answered. Refused: ask again soon."""
        asked_at_s = self._unanswered.pop(question, None)
        if not accepted:
            self._asked_at_s = None
        elif asked_at_s is not None:
            self._lease.renew(asked_at_s=asked_at_s)
