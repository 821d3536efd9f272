"""Producing with acknowledgement: a record goes out, and a callback says when Kafka has it.

One idempotent `confluent_kafka.Producer` a process, `acks=all`, and the partitioner that Debezium's Java
producer uses, so that equal keys meet in equal partition numbers. A record that Kafka refuses for a reason
that can pass is produced again until it is acknowledged: what waits for it stays unsettled and uncommitted
meanwhile, so nothing is lost and the window holds back the rest (INV-1, INV-2).

Not thread-safe, and never blocks but in `poll` and `flush`. `loop_producer` puts it on an event loop.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from connectors.kafka.errors import ProducerFatal
from connectors.kafka.record import OutgoingRecord

__all__ = ["PRODUCER_MAX_MESSAGE_BYTES", "RecordProducer", "producer_config"]

_log = logging.getLogger("connectors.kafka.producer")

_REPRODUCE_AFTER_S = 1.0
#: The client's own bound stays above any topic's, so that the broker alone decides what is too large.
PRODUCER_MAX_MESSAGE_BYTES = 8 * 1024 * 1024
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)  # noqa: SLF001 - Kafka's own names


def producer_config(bootstrap_servers: str, *, client_id: str) -> dict[str, Any]:
    """The configuration every producer of this project shares."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        "enable.idempotence": True,
        "acks": "all",
        # Java's default partitioner; librdkafka's own default hashes differently, and keys would part ways.
        "partitioner": "murmur2_random",
        # The client never gives a record up: its delivery is unsettled until Kafka has it, however long that takes.
        "message.timeout.ms": 0,
        "message.max.bytes": PRODUCER_MAX_MESSAGE_BYTES,
        "linger.ms": 2,
        "log_level": 3,
        "logger": _log,
    }


class RecordProducer:
    """Produces records until each is acknowledged.

    Args:
        config: see `producer_config`.
        on_fatal: told if the producer is broken for good; it may be told more than once.
    """

    def __init__(self, config: Mapping[str, Any], *, on_fatal: Callable[[ProducerFatal], None]) -> None:
        self._producer = Producer({**config, "error_cb": self._on_error})
        self._on_fatal = on_fatal
        self._refused: deque[tuple[float, OutgoingRecord, Callable[[], None]]] = deque()
        self.outstanding = 0
        self.outstanding_bytes = 0
        self._unreachable = False

    def send(self, record: OutgoingRecord, on_acked: Callable[[], None]) -> None:
        """Produce a record; `on_acked` is called once, from `poll` or `flush`, when Kafka has it."""
        self.outstanding += 1
        self.outstanding_bytes += record.size_bytes
        self._produce(record, on_acked)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Serve what Kafka answered, and produce again what it refused a while ago."""
        self._producer.poll(timeout_s)
        for _ in range(len(self._refused)):  # those refused again in this round wait for the next
            if self._refused[0][0] > monotonic():
                return
            _, record, on_acked = self._refused.popleft()
            self._produce(record, on_acked)

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is outstanding; False if the time ran out first. Blocks."""
        deadline_s = monotonic() + timeout_s
        while self.outstanding and (left_s := deadline_s - monotonic()) > 0:
            self.poll(min(left_s, 0.1))
        return not self.outstanding

    def close(self) -> None:
        """Drop what is outstanding: it is never acknowledged, so its deliveries stay unsettled and come again."""
        self._refused.clear()
        self._producer.purge()
        self._producer.flush(1.0)

    def _produce(self, record: OutgoingRecord, on_acked: Callable[[], None]) -> None:
        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is None:
                self._reached()
                self.outstanding -= 1
                self.outstanding_bytes -= record.size_bytes
                on_acked()
            else:
                self._refuse(record, on_acked, error)

        try:
            self._producer.produce(
                record.topic,
                record.value,
                record.key,
                -1 if record.partition is None else record.partition,
                delivered,
                headers=record.headers,  # type: ignore[arg-type]  # the stub's list is invariant
            )
        except BufferError:
            # The client's queue is full, because the broker is slow or away: its answers make room.
            self._refused.append((monotonic(), record, on_acked))
        except KafkaException as exception:
            self._refuse(record, on_acked, exception.args[0])

    def _refuse(self, record: OutgoingRecord, on_acked: Callable[[], None], error: KafkaError) -> None:
        if error.code() in _PURGED:
            return
        if error.fatal():
            self._on_fatal(ProducerFatal(f"producing to {record.topic} failed for good: {error.str()}"))
            return
        if error.code() == KafkaError._UNKNOWN_PARTITION:  # noqa: SLF001 - as above
            # The topic has fewer partitions than whoever chose this one knew of (spring-kafka #1828):
            # where its key belongs is better than nowhere.
            record = replace(record, partition=None)
        _log.warning("produce refused, trying again topic=%s error=%s", record.topic, error.str())
        self._refused.append((monotonic() + _REPRODUCE_AFTER_S, record, on_acked))

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._on_fatal(ProducerFatal(f"the Kafka producer failed for good: {error.str()}"))
        elif error.code() == KafkaError._ALL_BROKERS_DOWN and not self._unreachable:  # noqa: SLF001 - as above
            self._unreachable = True
            _log.warning("Kafka can't be reached: waiting until it is back; nothing is lost meanwhile")

    def _reached(self) -> None:
        if self._unreachable:
            self._unreachable = False
            _log.warning("Kafka is back")
