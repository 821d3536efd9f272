"""Reading a compacted topic whole, and then following it: the newest value of every key, in this process's memory.

No consumer group and no commits: every reader reads everything, from the beginning. Blocking; it belongs in a thread.
"""

import logging
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from connectors.kafka.errors import TopicUnanswered, TopicUnreadable

__all__ = ["CompactedReader"]

_log = logging.getLogger("connectors.kafka.compacted")

_TIMEOUT_S = 10.0
_POLL_S = 0.05
_BATCH = 1000
#: What brokers answer while a partition has no leader yet, or another one than the client knows of.
_BETWEEN_LEADERS = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


class CompactedReader:
    """Reads one topic from its beginning to its end, and on.

    Args:
        bootstrap_servers: host:port, comma separated.
        topic: the compacted topic.
        client_id: how the broker's log names this reader.
        apply: told of every record in its partition's order: key, and the value or None for a tombstone.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topic: str,
        client_id: str,
        apply: Callable[[bytes, bytes | None], None],
    ) -> None:
        self._topic = topic
        self._apply = apply
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "client.id": client_id,
                # Required by the client, never used: nothing is committed, and partitions are assigned by hand.
                "group.id": client_id,
                "enable.auto.commit": False,
                "enable.partition.eof": False,
                "logger": _log,
            }
        )

    def load(self) -> int:
        """Read all that is there now; returns how many records.

        Raises:
            TopicUnreadable: the topic does not exist.
            TopicUnanswered: no broker answers. To load again begins anew.
        """
        ends = self._ends()
        self._consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in ends])
        left = {number for number, end in ends.items() if end > 0}
        count = 0
        silent_since_s = monotonic()
        while left:
            # A batch is waited for as a whole, so the wait is short, and the silence is measured apart.
            messages = self._consumer.consume(_BATCH, _POLL_S)
            if messages:
                silent_since_s = monotonic()
            elif monotonic() - silent_since_s > _TIMEOUT_S:
                raise TopicUnanswered(
                    f"topic {self._topic}: nothing came for {_TIMEOUT_S:g} s while it was loaded"
                )
            count += sum(self._take(message) for message in messages)
            left -= {tp.partition for tp in self._positions(left) if tp.offset >= ends[tp.partition]}
        return count

    def follow(self, *, timeout_s: float) -> int:
        """Wait for a record up to the timeout, take what is there then; returns how many records.

        Not with `consume` alone: that waits for a whole batch, and an event that was committed right after its
        endpoint would find nobody.
        """
        first = self._consumer.poll(timeout_s)
        if first is None:
            return 0
        return self._take(first) + sum(self._take(message) for message in self._consumer.consume(_BATCH, 0))

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()

    def _ends(self) -> dict[int, int]:
        try:
            metadata = self._consumer.list_topics(self._topic, timeout=_TIMEOUT_S).topics[self._topic]
            if metadata.error is not None or not metadata.partitions:
                raise TopicUnreadable(f"topic {self._topic} does not exist; run `outbox setup`")
            return {number: self._end(number) for number in metadata.partitions}
        except KafkaException as error:
            raise TopicUnanswered(f"topic {self._topic} can't be read: {error.args[0].str()}") from error

    def _end(self, number: int) -> int:
        deadline_s = monotonic() + _TIMEOUT_S
        while True:
            try:
                low, high = self._consumer.get_watermark_offsets(
                    TopicPartition(self._topic, number), timeout=_TIMEOUT_S
                )
            except KafkaException as error:
                if error.args[0].code() not in _BETWEEN_LEADERS or monotonic() > deadline_s:
                    raise
                sleep(_POLL_S)
            else:
                # A topic whose records were all removed has nothing to wait for.
                return high if high > low else 0

    def _positions(self, numbers: set[int]) -> list[Any]:
        return self._consumer.position([TopicPartition(self._topic, number) for number in numbers])

    def _take(self, message: Message) -> bool:
        error = message.error()
        if error is not None:
            _log.warning("topic %s: %s", self._topic, error.str())
            return False
        key = message.key()
        if key is None:
            _log.warning("topic %s: a record without a key was skipped", self._topic)
            return False
        self._apply(key, message.value())
        return True
