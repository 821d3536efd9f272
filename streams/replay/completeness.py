"""When the delivery log can be trusted: everything that was on Kafka at a moment is delivered or parked, and recorded.

Place in the data's way: asked by a recovery before it begins, which sends what the log says was not delivered. The
order is what makes it right: where the workers' topics end is noted first; below their group's commit every delivery
is settled, so its attempt record is on `outbox.attempts`; where that ends is noted then, and what the recorder's group
has committed is in Postgres. What other replays had sent by then is on `outbox.redelivery`, and so among it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from typing import Final, Protocol

from connectors.counted import counted
from streams.replay.source import NotYet
from streams.topics import ATTEMPTS, EVENTS, RECORDER_GROUP, REDELIVERY, WORKER_GROUP

__all__ = ["AsksOffsets", "Completeness", "KeptCompleteness", "left_to_commit"]

_WORK: Final = (EVENTS, REDELIVERY)
_KEPT: Final = 1_000


class AsksOffsets(Protocol):
    """What this needs to know of Kafka."""

    def begins(self, topic: str) -> Mapping[int, int]:
        """Per partition the first offset that is kept."""
        ...

    def ends(self, topic: str) -> Mapping[int, int]:
        """Per partition the offset behind its last record."""
        ...

    def committed(self, group: str, topic: str) -> Mapping[int, int]:
        """What a group has committed of a topic."""
        ...


def left_to_commit(
    ends: Mapping[int, int], *, begins: Mapping[int, int], committed: Mapping[int, int]
) -> int:
    """How many records a group has yet to commit before it has come to these ends.

    Of a partition that it never committed, all that is there; what is deleted is not waited for.

    >>> left_to_commit({0: 10, 1: 5, 2: 7}, begins={0: 0, 1: 0, 2: 7}, committed={0: 8})
    7
    """
    return sum(
        max(0, end - max(committed.get(number, 0), begins.get(number, 0))) for number, end in ends.items()
    )


class Completeness:
    """Of one moment: the first at which it is asked.

    Args:
        offsets: asked about Kafka.
    """

    def __init__(self, offsets: AsksOffsets) -> None:
        self._offsets = offsets
        self._noted: dict[str, Mapping[int, int]] = {}
        self._reached: set[str] = set()

    def events_end(self) -> Mapping[int, int] | NotYet:
        """Where `outbox.events` ended at that moment, once the log is complete up to there.

        Raises:
            ClusterUnreachable, TopicUnreadable: as Kafka says.
        """
        for topic in _WORK:
            self._note(topic)
        for topic in _WORK:
            if left := self._left(WORKER_GROUP, topic):
                return NotYet(
                    f"the workers have {counted(left, 'record')} of {topic} to settle first. Does a worker run?"
                )
        self._note(ATTEMPTS)
        if left := self._left(RECORDER_GROUP, ATTEMPTS):
            return NotYet(
                f"the recorder has {counted(left, 'attempt')} to write first, so that the delivery log says what was "
                "delivered. Does `outbox recorder` run?"
            )
        return self._noted[EVENTS]

    def _note(self, topic: str) -> None:
        if topic not in self._noted:
            self._noted[topic] = self._offsets.ends(topic)

    def _left(self, group: str, topic: str) -> int:
        if topic in self._reached:
            return 0
        left = left_to_commit(
            self._noted[topic],
            begins=self._offsets.begins(topic),
            committed=self._offsets.committed(group, topic),
        )
        if not left:
            self._reached.add(topic)
        return left


class KeptCompleteness:
    """What recoveries have noted, for when they are tried again. Of one process's threads.

    Where the workers are always a little behind, notes that were made anew each time would never be reached.

    Args:
        offsets: asked about Kafka.
    """

    def __init__(self, offsets: AsksOffsets) -> None:
        self._offsets = offsets
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[Hashable, Completeness]] = OrderedDict()

    def of(self, replay_id: str, *, others: Hashable) -> Completeness:
        """The notes of a recovery whose claim is held; new ones once others for its target have gone on.

        What those sent since is on `outbox.redelivery` behind the end that was noted.
        """
        with self._lock:
            known = self._kept.get(replay_id)
            if known is None or known[0] != others:
                known = self._kept[replay_id] = others, Completeness(self._offsets)
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return known[1]
