"""Kafka as a verification reads it: how far each group is, and the records of ranges, in pieces. Commits nothing.

Place in the data's way: beside it, in no group. The live groups never hear of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from confluent_kafka import Message

from connectors.kafka.committed import committed_offsets
from connectors.kafka.message_reader import MessageReader
from connectors.kafka.topic_offsets import TopicOffsets
from streams.replay.completeness import left_to_commit
from streams.replay.event_range import CLOCKS_DIFFER
from streams.topics import EVENTS, REDELIVERY, SCHEDULER_GROUP, WORKER_GROUP, retry_topic
from streams.verify.places import unsettled_from

__all__ = ["KafkaSide", "Unsettled"]

_CLIENT: Final = "outbox-verify"
_ASKED_WITHIN_S: Final = 10.0
_PIECE: Final = 5_000

Places = Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """Per topic and partition, the first offset that its group had not committed."""

    events: Places
    held: Mapping[str, Places]


class KafkaSide:
    """One verification's view of Kafka.

    All may raise `ClusterUnreachable`, `TopicUnreadable` and `TopicUnanswered`.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        tiers: the delays of the retry topics.
    """

    def __init__(self, bootstrap_servers: str, *, tiers: Sequence[timedelta]) -> None:
        self._servers = bootstrap_servers
        self._tiers = tuple(retry_topic(delay) for delay in tiers)
        self._offsets = TopicOffsets(bootstrap_servers, timeout=timedelta(seconds=_ASKED_WITHIN_S))

    def unsettled(self) -> Unsettled:
        """How far the scheduler is, then the workers: what moves from one to the other is seen at one of them."""
        waiting = self._committed(SCHEDULER_GROUP, self._tiers)
        taken = self._committed(WORKER_GROUP, (EVENTS, REDELIVERY))
        return Unsettled(events=taken.pop(EVENTS), held={**waiting, **taken})

    def ends(self, topic: str) -> Places:
        """Where a topic ends now."""
        return self._offsets.ends(topic)

    def left(self, group: str, topic: str, ends: Places) -> int:
        """How many records a group has to commit before it has come to these ends."""
        return left_to_commit(
            ends, begins=self._offsets.begins(topic), committed=self._offsets.committed(group, topic)
        )

    def events_since(self, moment: datetime) -> tuple[Places, bool]:
        """Where the events of that time begin, and whether Kafka may have deleted some of them."""
        begins = self._offsets.begins(EVENTS)
        places = self._offsets.at_time(EVENTS, moment - CLOCKS_DIFFER)
        return places, any(begin > 0 and places[number] <= begin for number, begin in begins.items())

    def pieces(
        self, topic: str, begins: Places, ends: Places, on_read: Callable[[int], None]
    ) -> Iterator[Sequence[Message]]:
        """The records of a range, a bounded number at a time; each time it is told how many there were."""
        begins = {number: min(begins.get(number, 0), end) for number, end in ends.items()}
        reader = MessageReader(self._servers, topic=topic, begins=begins, ends=ends, client_id=_CLIENT)
        try:
            while not reader.done:
                records = reader.messages(_PIECE)
                on_read(len(records))
                yield records
        finally:
            reader.close()

    def _committed(self, group: str, names: Sequence[str]) -> dict[str, Places]:
        found = committed_offsets(self._servers, [group], timeout_s=_ASKED_WITHIN_S)
        return {
            topic: unsettled_from(
                begins=self._offsets.begins(topic),
                ends=self._offsets.ends(topic),
                committed={number: offset for (of, number), offset in found.items() if of == topic},
            )
            for topic in names
        }
