"""Kafka as a benchmark looks at it: where topics end, what was written since, and groups put at the end."""

import time
from collections.abc import Iterable, Iterator, Mapping

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from benchmarks.errors import BenchmarkError
from streams.commit.ledgers import Partition

__all__ = ["Ends", "Topics"]

Ends = Mapping[Partition, int]

_TIMEOUT_S = 15.0
_GROUP_LEFT_WITHIN_S = 20.0
_BATCH = 1_000


class Topics:
    """The cluster's topics."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def ends(self, *names: str) -> Ends:
        """The next offset of every partition of these topics."""
        topics = self._admin.list_topics(timeout=_TIMEOUT_S).topics
        wanted = [TopicPartition(name, number) for name in names for number in topics[name].partitions]
        futures = self._admin.list_offsets(
            {partition: OffsetSpec.latest() for partition in wanted},  # type: ignore[no-untyped-call]
            request_timeout=_TIMEOUT_S,
        )
        return {(tp.topic, tp.partition): future.result(_TIMEOUT_S).offset for tp, future in futures.items()}

    def written_since(self, before: Ends) -> int:
        """How many records have been written to the topics of `before` since then."""
        now = self.ends(*{topic for topic, _ in before})
        return sum(now.values()) - sum(before.values())

    def read_since(self, before: Ends) -> Iterator[Message]:
        """The records that were written since `before`, up to now; ordered within each partition only."""
        now = self.ends(*{topic for topic, _ in before})
        left = sum(now.values()) - sum(before.values())
        consumer = Consumer(
            {"bootstrap.servers": self._servers, "group.id": "benchmark", "enable.auto.commit": False}
        )
        try:
            consumer.assign([TopicPartition(*partition, offset) for partition, offset in before.items()])
            while left > 0:
                batch = consumer.consume(min(_BATCH, left), _TIMEOUT_S)
                if not batch:
                    raise BenchmarkError(
                        f"{left} records can't be read from {sorted({t for t, _ in before})}"
                    )
                left -= len(batch)
                yield from batch
        finally:
            consumer.close()

    def skip_to_end(self, group: str, topics: Iterable[str]) -> None:
        """Let a group without members start at the end of these topics: nothing from before is in its way.

        Raises:
            BenchmarkError: the group still has members.
        """
        offsets = [TopicPartition(*partition, offset) for partition, offset in self.ends(*topics).items()]
        deadline = time.monotonic() + _GROUP_LEFT_WITHIN_S
        while True:
            request = ConsumerGroupTopicPartitions(group, offsets)
            (future,) = self._admin.alter_consumer_group_offsets([request]).values()
            try:
                result = future.result(_TIMEOUT_S)
            except KafkaException as error:
                reason = error.args[0].str()
            else:
                refused = [tp.error for tp in result.topic_partitions if tp.error is not None]
                if not refused:
                    return
                reason = refused[0].str()
            if time.monotonic() > deadline:
                raise BenchmarkError(f"group {group} can't be moved to the end: {reason}")
            time.sleep(0.2)
