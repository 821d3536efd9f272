"""What Kafka has: the records of a topic since a moment, and what a group has committed, as the broker knows it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupState,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.producer import producer_config
from connectors.kafka.record import OutgoingRecord
from streams.records.wire import header_map

__all__ = [
    "Committed",
    "Record",
    "TopicTail",
    "committed",
    "group_is_stable",
    "group_members",
    "produce",
    "topic_ends",
]

_ANSWER_S = 15.0
_BATCH = 2_000
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record as it lies in its topic. `appended_at_ms` is the broker's time."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, str]
    appended_at_ms: int

    @property
    def event_id(self) -> str:
        return self.headers.get("id", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a group has committed of one partition."""

    offset: int
    metadata: str


class TopicTail:
    """The records that a topic got since this was made, or all of them."""

    def __init__(self, bootstrap_servers: str, topic: str, *, from_beginning: bool = False) -> None:
        self.topic = topic
        self._servers = bootstrap_servers
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "tests",
                "enable.auto.commit": False,
                # Requests of one connection are answered in turn: a waiting fetch holds up all others.
                "fetch.wait.max.ms": 50,
            }
        )
        self._next = {
            number: 0 if from_beginning else end
            for number, end in topic_ends(bootstrap_servers, topic).items()
        }
        self._consumer.assign(
            [TopicPartition(topic, number, start or OFFSET_BEGINNING) for number, start in self._next.items()]
        )
        self._records: list[Record] = []

    @property
    def records(self) -> Sequence[Record]:
        """What was read so far."""
        return self._records

    def wait_until(
        self, holds: Callable[[Sequence[Record]], bool], *, what: str, timeout_s: float = 40.0
    ) -> Sequence[Record]:
        """Read until something holds of the records, and give them all."""
        deadline_s = monotonic() + timeout_s
        while not holds(self._records):
            assert monotonic() < deadline_s, (
                f"{self.topic}: no {what} within {timeout_s:g} s; {len(self._records)} records came"
            )
            self._read()
        return self._records

    def wait_for_events(self, event_ids: Iterable[object]) -> Sequence[Record]:
        """Read until there is a record of each of these events, and give the first of each, in their order here."""
        wanted = {str(event_id) for event_id in event_ids}
        found: dict[str, Record] = {}
        looked_at = 0

        def all_came(records: Sequence[Record]) -> bool:
            nonlocal looked_at
            for record in records[looked_at:]:
                if record.event_id in wanted:
                    found.setdefault(record.event_id, record)
            looked_at = len(records)
            return len(found) == len(wanted)

        self.wait_until(all_came, what=f"{len(wanted)} events")
        return list(found.values())

    def to_the_end(self) -> Sequence[Record]:
        """Read all that is there now, and give all that was read so far."""
        ends = topic_ends(self._servers, self.topic)
        return self.wait_until(
            lambda _: all(self._next[number] >= end for number, end in ends.items()), what="end"
        )

    def close(self) -> None:
        self._consumer.close()

    def _read(self) -> None:
        for message in self._consumer.consume(_BATCH, _POLL_S):
            if message.error() is None:  # else a broker that was killed, which the client gets over by itself
                record = _record(message)
                self._records.append(record)
                self._next[record.partition] = record.offset + 1


def topic_ends(bootstrap_servers: str, topic: str) -> Mapping[int, int]:
    """The offset behind the last record of each partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 4})
    metadata = admin.list_topics(topic, timeout=_ANSWER_S).topics[topic]
    assert metadata.error is None, metadata.error
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the stub forgot it
    wanted = {TopicPartition(topic, number): latest for number in metadata.partitions}
    return {tp.partition: end.result(_ANSWER_S).offset for tp, end in admin.list_offsets(wanted).items()}


def committed(bootstrap_servers: str, group: str) -> Mapping[tuple[str, int], Committed]:
    """What the broker holds of a group's commits.

    Asked with aiokafka, which the worker commits with: confluent_kafka expects a NUL at the end of the
    metadata, as it writes one itself, and reads on into other memory where there is none.
    """
    return asyncio.run(_committed(bootstrap_servers, group))


async def _committed(bootstrap_servers: str, group: str) -> Mapping[tuple[str, int], Committed]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()
    try:
        answer = await admin.list_consumer_group_offsets(group)
    finally:
        await admin.close()
    return {
        (partition.topic, partition.partition): Committed(
            offset=found.offset, metadata=found.metadata.removesuffix("\0")
        )
        for partition, found in answer.items()
        if found.offset >= 0
    }


def group_members(bootstrap_servers: str, group: str) -> int:
    """How many members a group has: those that were killed too, until the broker misses them."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 4})
    try:
        found = admin.describe_consumer_groups([group])[group].result(_ANSWER_S)
    except KafkaException:
        return 0
    return 0 if found.state is ConsumerGroupState.DEAD else len(found.members)


def group_is_stable(bootstrap_servers: str, group: str, *, members: int) -> bool:
    """Whether a group has this many members, and each of them its partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 4})
    try:
        found = admin.describe_consumer_groups([group])[group].result(_ANSWER_S)
    except KafkaException:
        return False
    return found.state is ConsumerGroupState.STABLE and len(found.members) == members


def produce(bootstrap_servers: str, records: Iterable[OutgoingRecord]) -> None:
    """Write records, and return when Kafka has them."""
    failed: list[Any] = []
    producer = Producer(producer_config(bootstrap_servers, client_id="tests"))
    for record in records:
        producer.produce(
            record.topic,
            record.value,
            record.key,
            -1 if record.partition is None else record.partition,
            lambda error, _: failed.append(error) if error else None,
            headers=record.headers,  # type: ignore[arg-type]  # the stub's list is invariant
        )
        producer.poll(0)
    left = producer.flush(_ANSWER_S)
    assert not left, f"{left} records were not acknowledged"
    assert not failed, failed


def _record(message: Message) -> Record:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers: Any = message.headers()
    return Record(
        topic=topic,
        partition=partition,
        offset=offset,
        key=message.key(),
        value=message.value(),
        headers={name: raw.decode(errors="replace") for name, raw in header_map(headers).items()},
        appended_at_ms=message.timestamp()[1],
    )
