"""Reading the records at given places of one topic: those that lie close together in one go.

Place in the data's way: redrives read dead letters where they lie. In no group: nothing is committed. Reading each by
itself would cost a connection's round trips for each; reading all that is between them might be the whole topic. So
neighbours are read together with the few records between them. Blocking; one thread's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final

from connectors.kafka.range_reader import RangeReader
from connectors.kafka.read_record import ReadRecord
from connectors.kafka.topic_offsets import TopicOffsets

__all__ = ["PlacesReader", "runs"]

#: Few, for they may be large.
_AT_ONCE: Final = 8
#: So many unwanted records between two wanted ones are read sooner than another reading begins.
_BETWEEN: Final = 50


class PlacesReader:
    """Reads records of one topic by their offsets.

    All methods raise `ClusterUnreachable`, `TopicUnreadable` or `TopicUnanswered` as Kafka says.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        topic: which topic.
        client_id: how the broker's log names this reader.
        offsets: asked where the topic begins and ends.
    """

    def __init__(self, bootstrap_servers: str, *, topic: str, client_id: str, offsets: TopicOffsets) -> None:
        self._servers = bootstrap_servers
        self._topic = topic
        self._client_id = client_id
        self._offsets = offsets

    def read(
        self, partition: int, wanted: Sequence[int], *, most_bytes: int
    ) -> tuple[Mapping[int, ReadRecord], int]:
        """The records of a partition at these offsets, which ascend; those that are not there are left out.

        It ends with the record that reaches `most_bytes` of values. Gives how many of `wanted` were looked for, too.
        """
        first, end = self._offsets.begins(self._topic), self._offsets.ends(self._topic)
        there = [offset for offset in wanted if first.get(partition, 0) <= offset < end.get(partition, 0)]
        found: dict[int, ReadRecord] = {}
        value_bytes = 0
        for run in runs(there, between=_BETWEEN):
            with closing(self._run(partition, run)) as records:
                for offset, record in records:
                    found[offset] = record
                    value_bytes += len(record.value or b"")
                    if value_bytes >= most_bytes:
                        return found, bisect_right(wanted, offset)
        return found, len(wanted)

    def _run(self, partition: int, run: Sequence[int]) -> Generator[tuple[int, ReadRecord]]:
        reader = RangeReader(
            self._servers,
            topic=self._topic,
            begins={partition: run[0]},
            ends={partition: run[-1] + 1},
            client_id=self._client_id,
        )
        wanted = frozenset(run)
        try:
            while not reader.done:
                for record in reader.read(_AT_ONCE):
                    if record.offset in wanted:
                        yield record.offset, record
        finally:
            reader.close()


def runs(offsets: Iterable[int], *, between: int) -> Iterator[list[int]]:
    """Ascending offsets in runs whose neighbours have at most so many others between them. Pure.

    >>> list(runs([1, 2, 5, 9], between=2))
    [[1, 2, 5], [9]]
    """
    run: list[int] = []
    for offset in offsets:
        if run and offset - run[-1] - 1 > between:
            yield run
            run = []
        run.append(offset)
    if run:
        yield run
