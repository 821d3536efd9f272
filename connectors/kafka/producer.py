"""Producing with acknowledgement: records go out, and a callback says when Kafka has all of them.

One idempotent `confluent_kafka.Producer` a process, `acks=all`, and the partitioner that Debezium's Java
producer uses, so that equal keys meet in equal partition numbers. A record whose delivery fails for a
reason that can pass is produced again until it is acknowledged: what waits for it stays unsettled and
uncommitted meanwhile, so nothing is lost and the window holds back the rest (INV-1, INV-2).

Runs on the event loop's thread: librdkafka is polled from a timer while something is outstanding, which costs no thread
hop per record and nothing at all when idle.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from connectors.kafka.errors import ProducerFatal

__all__ = ["PRODUCER_MAX_MESSAGE_BYTES", "AcknowledgedProducer", "OutgoingRecord", "producer_config"]

_log = logging.getLogger("connectors.kafka.producer")

_POLL_INTERVAL_S = 0.004
_REPRODUCE_DELAY_S = 1.0
#: The client's own bound stays above any topic's, so that the broker alone decides what is too large.
PRODUCER_MAX_MESSAGE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record to produce. `partition` None lets the key choose."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    partition: int | None = None


def producer_config(bootstrap_servers: str, *, client_id: str) -> dict[str, Any]:
    """The configuration every producer of this project shares."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        "enable.idempotence": True,
        "acks": "all",
        # Java's default partitioner; librdkafka's own default hashes differently, and keys would part ways.
        "partitioner": "murmur2_random",
        # A record is never given up by the client: its delivery is unsettled until Kafka has it, however
        # long that takes.
        "message.timeout.ms": 0,
        "message.max.bytes": PRODUCER_MAX_MESSAGE_BYTES,
        "linger.ms": 2,
        "log_level": 3,
        "logger": _log,
    }


class AcknowledgedProducer:
    """Produces records and calls back when all of a group are acknowledged.

    Args:
        config: see `producer_config`.
        loop: the event loop whose thread alone may call this object.
        on_fatal: told once, if the producer is broken for good.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        loop: asyncio.AbstractEventLoop,
        on_fatal: Callable[[ProducerFatal], None],
    ) -> None:
        self._producer = Producer({**config, "error_cb": self._on_error})
        self._loop = loop
        self._on_fatal = on_fatal
        self._timer: asyncio.TimerHandle | None = None
        self.outstanding = 0

    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        """Send a group of records; `on_acked` is called once, on the loop, when Kafka has acknowledged all of them."""
        left = len(records)

        def acked() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                on_acked()

        for record in records:
            self.outstanding += 1
            self._send(record, acked)
        if self._timer is None:
            self._timer = self._loop.call_later(_POLL_INTERVAL_S, self._poll)

    async def flush(self, *, timeout_s: float) -> bool:
        """Wait until nothing is outstanding; False if the time ran out first."""
        deadline = self._loop.time() + timeout_s
        while self.outstanding and self._loop.time() < deadline:
            self._producer.poll(0)
            await asyncio.sleep(_POLL_INTERVAL_S)
        return not self.outstanding

    def close(self) -> None:
        """Stop polling.

        What is still outstanding stays unacknowledged: its deliveries are unsettled, and come again.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._producer.purge()
        self._producer.flush(1.0)

    def _send(self, record: OutgoingRecord, acked: Callable[[], None]) -> None:
        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is None:
                self.outstanding -= 1
                acked()
            else:
                self._again(record, acked, error)

        try:
            self._producer.produce(
                record.topic,
                record.value,
                record.key,
                -1 if record.partition is None else record.partition,
                delivered,
                headers=record.headers,  # type: ignore[arg-type]  # the stub asks for a union in the (invariant) list
            )
        except BufferError:
            # The client's queue is full, because the broker is slow or away: its delivery reports make room.
            self._loop.call_later(_POLL_INTERVAL_S, self._send, record, acked)
        except KafkaException as exception:
            self._again(record, acked, exception.args[0])

    def _again(self, record: OutgoingRecord, acked: Callable[[], None], error: KafkaError) -> None:
        if error.fatal():
            self._on_fatal(ProducerFatal(f"producing to {record.topic} failed for good: {error.str()}"))
            return
        if error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT):  # noqa: SLF001 - Kafka's own names
            return
        _log.warning("produce refused, trying again topic=%s error=%s", record.topic, error.str())
        self._loop.call_later(_REPRODUCE_DELAY_S, self._send, record, acked)

    def _poll(self) -> None:
        self._producer.poll(0)
        self._timer = self._loop.call_later(_POLL_INTERVAL_S, self._poll) if self.outstanding else None

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._loop.call_soon(
                self._on_fatal, ProducerFatal(f"the Kafka producer failed for good: {error.str()}")
            )
