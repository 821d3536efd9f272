"""A plain Kafka consumer that watches the topics: retry tiers, dead letters, attempts.

It belongs to no group of the processor, commits nothing, and reads every partition from its beginning. The headers are
read as docs/reference says they are written, not with the processor's own code.
"""

import json
import time
from collections.abc import Mapping, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from demo.evidence import AttemptRecord, DeadLetter, Evidence, Parked
from demo.failure import DemoFailedError

__all__ = ["Topics"]

_ATTEMPTS = "outbox.attempts"
_DEAD_LETTER = "outbox.dead-letter"
_BATCH = 500
_ANSWER_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


class Topics:
    """Watches these topics. Blocking: call it in one thread at a time.

    Args:
        bootstrap_servers: of the demo's Kafka.
        retry_topics: all of them, also those that must stay empty.
        evidence: where records are noted.
    """

    def __init__(self, bootstrap_servers: str, *, retry_topics: Sequence[str], evidence: Evidence) -> None:
        self._evidence = evidence
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "demo",  # required by the client; nothing is committed
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
                "log_level": 0,  # what matters comes as an error; the rest would be written into the live view
            }
        )
        self._partitions = [
            TopicPartition(topic, number, OFFSET_BEGINNING)
            for topic in (*retry_topics, _DEAD_LETTER, _ATTEMPTS)
            for number in self._numbers(topic)
        ]
        self._consumer.assign(self._partitions)

    def read(self, *, timeout_s: float) -> int:
        """Note what comes within this time; returns how many records."""
        messages = self._consumer.consume(_BATCH, timeout_s)
        for message in messages:
            self._note(message)
        return len(messages)

    def read_to_end(self) -> None:
        """Note everything up to what are the ends now. For when nobody writes any more."""
        ends = {
            (partition.topic, partition.partition): self._end(partition) for partition in self._partitions
        }
        deadline = time.monotonic() + _ANSWER_WITHIN_S
        while self._is_before(ends):
            if self.read(timeout_s=_LOOK_EVERY_S):
                deadline = time.monotonic() + _ANSWER_WITHIN_S
            elif time.monotonic() > deadline:
                raise DemoFailedError(
                    f"Kafka gave nothing more for {_ANSWER_WITHIN_S:g} s before the end of a topic"
                )

    def _is_before(self, ends: Mapping[tuple[str, int], int]) -> bool:
        return any(
            max(position.offset, 0) < ends[position.topic, position.partition]
            for position in self._consumer.position(self._partitions)
        )

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()

    def _numbers(self, topic: str) -> list[int]:
        metadata = self._consumer.list_topics(topic, timeout=_ANSWER_WITHIN_S).topics[topic]
        if metadata.error is not None:
            raise DemoFailedError(f"topic {topic} can't be read: {metadata.error.str()}")
        return list(metadata.partitions)

    def _end(self, partition: TopicPartition) -> int:
        return int(self._consumer.get_watermark_offsets(partition, timeout=_ANSWER_WITHIN_S)[1])

    def _note(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            raise DemoFailedError(f"reading the topics failed: {error.str()}")
        topic, value = message.topic() or "", message.value() or b""
        if topic == _ATTEMPTS:
            self._evidence.attempts.append(_attempt(value))
            return
        headers = {
            name: raw.decode()
            for name, raw in dict(message.headers() or ()).items()
            if isinstance(raw, bytes)
        }
        if topic == _DEAD_LETTER:
            self._evidence.dead_letters.append(_dead_letter(headers, value))
        else:
            self._evidence.parked.append(_parked(headers, topic))


def _attempt(value: bytes) -> AttemptRecord:
    fields = json.loads(value)
    return AttemptRecord(
        event_id=fields["event_id"],
        target=fields["target"],
        attempt=fields["attempt"],
        outcome=fields["outcome"],
        next=fields["next"],
    )


def _dead_letter(headers: dict[str, str], value: bytes) -> DeadLetter:
    return DeadLetter(
        event_id=headers["id"],
        target=headers.get("outbox-target"),
        code=headers["outbox-error-code"],
        body=value,
    )


def _parked(headers: dict[str, str], topic: str) -> Parked:
    return Parked(
        event_id=headers["id"],
        target=headers["outbox-target"],
        attempt=int(headers["outbox-attempt"]),
        topic=topic,
    )
