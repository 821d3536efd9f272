"""Records as a worker parks them in a delay tier, written by the test itself: for a scheduler without a worker."""

from __future__ import annotations

import time
from dataclasses import replace
from uuid import uuid4

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.records.delivery import Origin
from streams.records.wire import encode_delivery
from streams.retry.tiers import Lane, RetryTiers
from tests.support.deliveries import a_delivery, an_event
from tests.support.installation import TIERS
from tests.support.topics import Record, TopicTail

__all__ = ["LANES", "discard_moves", "event_id_of", "now_ms", "parked", "wait_for_moves"]

_ANSWER_S = 15.0

LANES: tuple[Lane, ...] = RetryTiers(TIERS, lanes=6).lanes


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def parked(lane: Lane, *, due_at_ms: int, **headers: str) -> OutgoingRecord:
    """A delivery of an event of its own that waits in this lane. `headers` are added, with `-` for `_`."""
    delivery = replace(a_delivery(event=an_event(id=uuid4())), origin=Origin(topics.EVENTS, 4, 77), attempt=2)
    added = {"outbox-due-at": str(due_at_ms), "outbox-error": "answered 500"}
    added |= {name.replace("_", "-"): value for name, value in headers.items()}
    return OutgoingRecord(
        topic=lane.topic,
        partition=lane.partition,
        key=delivery.event.aggregate_id.encode(),
        value=delivery.event.payload,
        headers=[*encode_delivery(delivery), *((name, value.encode()) for name, value in added.items())],
    )


def event_id_of(record: OutgoingRecord) -> str:
    return dict(record.headers)["id"].decode()


def discard_moves(bootstrap_servers: str) -> None:
    """Let the workers' group, which has no member now, begin behind what was moved: it is meant for nobody."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    partitions = admin.list_topics(topics.REDELIVERY, timeout=_ANSWER_S).topics[topics.REDELIVERY].partitions
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the stub forgot it
    asked = admin.list_offsets({TopicPartition(topics.REDELIVERY, number): latest for number in partitions})
    ends = [TopicPartition(tp.topic, tp.partition, end.result(_ANSWER_S).offset) for tp, end in asked.items()]
    group = ConsumerGroupTopicPartitions(topics.WORKER_GROUP, ends)
    admin.alter_consumer_group_offsets([group])[topics.WORKER_GROUP].result(_ANSWER_S)


def wait_for_moves(tail: TopicTail, records: list[OutgoingRecord]) -> dict[str, list[Record]]:
    """Wait until each of these was moved on, and give what came of each, by event id."""
    ids = {event_id_of(record) for record in records}
    tail.wait_for_events(ids)
    moved: dict[str, list[Record]] = {event_id: [] for event_id in ids}
    for record in tail.to_the_end():
        if record.event_id in ids:
            moved[record.event_id].append(record)
    return moved
