"""Reading a topic's records between given offsets, once: a range that is bounded when reading begins.

Place in the data's way: what replays read. In no group: partitions are assigned by hand and nothing is committed,
so the live group never hears of it. Invariant: `next_offsets` says exactly what was given out, so whoever goes on
from there leaves nothing out. Blocking; one thread's.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final, TypeVar

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from connectors.kafka.errors import TopicUnanswered
from connectors.kafka.read_record import ReadRecord, reader_config, record_of

__all__ = ["RangeReader"]

_log = logging.getLogger("connectors.kafka.reader")

#: How long one look for records lasts.
_POLL_S: Final = 0.05
#: After so long without a record, where there is one, nobody answers.
_SILENCE_S: Final = 15.0
_QUEUED_KBYTES: Final = 16_384
_EOF: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - Kafka's own name


#: How a record is given out.
_Given = TypeVar("_Given")


class RangeReader:
    """One reading of one range.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        topic: which topic.
        begins: per partition the first offset that is wanted. One that is deleted by now begins where the log does.
        ends: per partition the first offset that is not.
        client_id: how the broker's log names this reader.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topic: str,
        begins: Mapping[int, int],
        ends: Mapping[int, int],
        client_id: str,
    ) -> None:
        self._topic = topic
        self._ends = ends
        self.next_offsets: dict[int, int] = {number: begins[number] for number in ends}
        self._open = {number for number, end in ends.items() if self.next_offsets[number] < end}
        self._consumer = Consumer(
            {
                **reader_config(bootstrap_servers, client_id=client_id),
                "auto.offset.reset": "earliest",
                "queued.max.messages.kbytes": _QUEUED_KBYTES,  # what is fetched ahead
            }
        )
        self._consumer.assign([TopicPartition(topic, number, begins[number]) for number in self._open])

    @property
    def done(self) -> bool:
        """Whether all of it was given out."""
        return not self._open

    def read(self, most: int) -> list[ReadRecord]:
        """Give out the next records, at most so many; none only when all were, or none came for a moment.

        Raises:
            TopicUnanswered: nothing came for long, although there is something. What was given out, was.
        """
        return self._given_out(most, self._records)

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()

    def _given_out(self, most: int, taken: Callable[[Sequence[Message]], list[_Given]]) -> list[_Given]:
        silent_since_s = monotonic()
        while self._open:
            messages = self._consumer.consume(most, _POLL_S)
            if given := taken(messages):
                return given
            if messages:
                silent_since_s = monotonic()
            elif monotonic() - silent_since_s > _SILENCE_S:
                raise TopicUnanswered(f"topic {self._topic}: nothing came for {_SILENCE_S:g} s")
        return []

    def _records(self, messages: Sequence[Message]) -> list[ReadRecord]:
        return [record for message in messages if (record := self._take(message)) is not None]

    def _take(self, message: Message) -> ReadRecord | None:
        error, number = message.error(), message.partition()
        if error is not None:
            if error.code() == _EOF and number is not None:
                self._reached(number, message.offset() or 0)
            elif error.code() != _EOF:
                # It heals by itself, or nothing comes for long.
                _log.warning("reading %s failed for now: %s", self._topic, error.str())
            return None
        record = record_of(message)
        if record.partition not in self._open:
            return None  # beyond the end: fetched before the partition was let go
        if record.offset >= self._ends[record.partition]:
            self._reached(record.partition, record.offset)
            return None
        self._reached(record.partition, record.offset + 1)
        return record

    def _reached(self, number: int, offset: int) -> None:
        """Everything before this offset was given out, or is a hole: the end of a log may be one."""
        end = self._ends[number]
        self.next_offsets[number] = min(max(offset, self.next_offsets[number]), end)
        if number in self._open and offset >= end:
            self._open.discard(number)
            self._consumer.incremental_unassign([TopicPartition(self._topic, number)])
