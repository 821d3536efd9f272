"""Putting a replay's deliveries on `outbox.redelivery`, and finding there what was put already.

Place in the data's way: between the replayer and the workers, who make the deliveries as they make those that come
back from a retry tier. Invariants: each goes to the partition of its origin, under the event's key, so that the worker
that owns a key's first attempts owns its replays, too; nothing counts as sent before Kafka has acknowledged it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from connectors.kafka.errors import ProducerFatal
from connectors.kafka.producer import RecordProducer, producer_config
from connectors.kafka.range_reader import RangeReader
from connectors.kafka.record import OutgoingRecord
from connectors.kafka.topic_offsets import TopicOffsets
from streams import topics
from streams.errors import RecordMalformed
from streams.records.delivery import Delivery
from streams.records.target import TargetName, parse_target
from streams.records.wire import encode_delivery, encode_unrouted, header_map, is_unrouted
from streams.replay.source import Sendable

__all__ = ["Outlet", "SentKey", "redelivery_record", "sent_key"]

_CLIENT: Final = "outbox-replayer"
_READ: Final = 1_000

SentKey = tuple[UUID, TargetName | None]
"""What a replay sends once: an event to a target, or to whoever wants it."""


def sent_key(delivery: Sendable) -> SentKey:
    """By what a delivery is known again within its replay."""
    return delivery.event.id, delivery.target if isinstance(delivery, Delivery) else None


def redelivery_record(delivery: Sendable) -> OutgoingRecord:
    """A delivery's record on `outbox.redelivery`."""
    return OutgoingRecord(
        topic=topics.REDELIVERY,
        partition=delivery.origin.partition,
        key=delivery.event.aggregate_id.encode(),
        value=delivery.event.payload,
        headers=encode_delivery(delivery) if isinstance(delivery, Delivery) else encode_unrouted(delivery),
    )


class Outlet:
    """Sends deliveries. One thread's.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        offsets: asked where `outbox.redelivery` ends.
    """

    def __init__(self, bootstrap_servers: str, *, offsets: TopicOffsets) -> None:
        self._servers = bootstrap_servers
        self._offsets = offsets
        self._fatal: ProducerFatal | None = None
        self._producer = RecordProducer(
            producer_config(bootstrap_servers, client_id=_CLIENT), on_fatal=self._failed
        )

    def send(self, delivery: Sendable) -> None:
        """Hand a delivery to the producer. `flush` says when Kafka has it."""
        self._producer.send(redelivery_record(delivery), lambda: None)
        self._producer.poll()

    def flush(self, timeout_s: float) -> bool:
        """Wait until Kafka has all that was sent; False if the time ran out first.

        Raises:
            ProducerFatal: it never will, by this outlet.
        """
        done = self._producer.flush(timeout_s)
        if self._fatal is not None:
            raise self._fatal
        return done

    def ends(self) -> Mapping[int, int]:
        """Where `outbox.redelivery` ends now, per partition.

        Raises:
            ClusterUnreachable, TopicUnreadable: as Kafka says.
        """
        return self._offsets.ends(topics.REDELIVERY)

    def sent_since(self, replay_id: str, since: Mapping[int, int]) -> frozenset[SentKey]:
        """What of a replay stands on `outbox.redelivery` from these offsets on.

        Raises:
            ClusterUnreachable, TopicUnreadable, TopicUnanswered: as Kafka says.
        """
        begins, ends = self._offsets.begins(topics.REDELIVERY), self.ends()
        reader = RangeReader(
            self._servers,
            topic=topics.REDELIVERY,
            begins={number: max(since.get(number, 0), begins[number]) for number in ends},
            ends=ends,
            client_id=_CLIENT,
        )
        try:
            found: set[SentKey] = set()
            while not reader.done:
                found.update(_keys((header_map(one.headers) for one in reader.read(_READ)), replay_id))
            return frozenset(found)
        finally:
            reader.close()

    def close(self) -> None:
        """Stop, and drop what Kafka has not acknowledged."""
        self._producer.close()

    def _failed(self, error: ProducerFatal) -> None:
        self._fatal = error


def _keys(records: Iterable[Mapping[str, bytes]], replay_id: str) -> Iterable[SentKey]:
    for headers in records:
        if headers.get("outbox-replay-id") != replay_id.encode():
            continue
        try:
            target = None if is_unrouted(headers) else parse_target(headers["outbox-target"].decode())
            yield UUID(headers["id"].decode()), target
        except (KeyError, ValueError, RecordMalformed):
            continue  # of this replay's name, but none that it sent
