"""A record as it was read, and reading the one at a given place.

Place in the data's way: replays read events and dead letters where they lie. In no group: nothing is committed.
Blocking. Must not: say what a record means.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from connectors.kafka.errors import ClusterUnreachable
from connectors.kafka.message_headers import message_headers
from connectors.kafka.place import place_of

__all__ = ["ReadRecord", "RecordReader", "reader_config", "record_of"]

_log = logging.getLogger("connectors.kafka.reader")

_TIMEOUT_S: Final = 5.0
#: A place that is no place: whoever wrote it down was wrong, or the topic was made anew.
_NO_SUCH_PLACE: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001 - Kafka's own names, here and below
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
    }
)
#: The record was deleted between the question where the log begins and the fetch.
_PASSED_BY: Final = frozenset(
    {
        KafkaError.OFFSET_OUT_OF_RANGE,
        KafkaError._AUTO_OFFSET_RESET,  # noqa: SLF001
        KafkaError._PARTITION_EOF,  # noqa: SLF001
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """A record, and where it stands. `headers` are as they came, repeated ones and null values included."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | str | None]]


def record_of(message: Message) -> ReadRecord:
    """The record of a message without an error."""
    topic, partition, offset = place_of(message)
    return ReadRecord(
        topic=topic,
        partition=partition,
        offset=offset,
        key=message.key(),
        value=message.value(),
        headers=[*message_headers(message)],
    )


def reader_config(bootstrap_servers: str, *, client_id: str) -> dict[str, Any]:
    """The configuration of a consumer whose partitions are assigned by hand."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        # Required by the client, never used: nothing is committed.
        "group.id": client_id,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        # Requests of one connection are answered in turn: a waiting fetch would hold up all others.
        "fetch.wait.max.ms": 50,
        # A second by default, in which nothing comes: what is fetched ahead is bounded, and used up at once.
        "fetch.queue.backoff.ms": 20,
        # What goes wrong is raised; librdkafka would also write it, again and again.
        "log_level": 0,
        "logger": _log,
    }


class RecordReader:
    """Reads single records. Opens its connection at the first; one thread's.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        client_id: how the broker's log names this reader.
        timeout_s: limit for one record.
        monotonic_s: seconds that only go forward.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        client_id: str,
        timeout_s: float = _TIMEOUT_S,
        monotonic_s: Callable[[], float] = monotonic,
    ) -> None:
        self._servers = bootstrap_servers
        self._timeout_s = timeout_s
        self._monotonic_s = monotonic_s
        self._config = {
            **reader_config(bootstrap_servers, client_id=client_id),
            "auto.offset.reset": "error",
        }
        self._consumer: Consumer | None = None

    def read(self, topic: str, partition: int, offset: int) -> ReadRecord | None:
        """The record at this place; None where there is none, or none any more.

        Raises:
            ClusterUnreachable: no broker answered in time.
        """
        consumer = self._consumer = self._consumer or Consumer(self._config)
        end_s = self._monotonic_s() + self._timeout_s
        try:
            first, end = consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=self._timeout_s, cached=False
            )
            if not first <= offset < end:
                return None
            consumer.assign([TopicPartition(topic, partition, offset)])
            return self._next(consumer, offset, end_s)
        except KafkaException as exception:
            error: KafkaError = exception.args[0]
            if error.code() in _NO_SUCH_PLACE:
                return None
            raise ClusterUnreachable(self._servers, error.str()) from exception

    def close(self) -> None:
        """Leave the broker."""
        if self._consumer is not None:
            self._consumer.close()

    def __enter__(self) -> Self:
        """Use it for a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _next(self, consumer: Consumer, offset: int, end_s: float) -> ReadRecord | None:
        while (left_s := end_s - self._monotonic_s()) > 0:
            message = consumer.poll(left_s)
            if message is None:
                continue
            error = message.error()
            if error is None:
                # The first one from there on: a later offset says that this one is a hole in the log.
                found = record_of(message)
                return found if found.offset == offset else None
            if error.code() in _PASSED_BY:
                return None
            _log.warning("reading %s failed for now: %s", message.topic(), error.str())
        raise ClusterUnreachable(self._servers, f"no record came within {self._timeout_s:g} s")
