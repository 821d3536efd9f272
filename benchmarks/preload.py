"""Records put straight onto Kafka, as Debezium or a worker would write them, by a process of its own.

Events go to `outbox.events` for measuring workers without Debezium's pace. Retries go into the lanes of the delay
tiers: at a steady pace with due times as a worker sets them, or all at once and long due.
"""

import random
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from confluent_kafka import Producer

from benchmarks.children import run_in_child
from benchmarks.orders import Order
from connectors.kafka.producer import producer_config
from connectors.kafka.record import OutgoingRecord
from outbox.event import Event
from outbox.event_id import new_event_id
from streams.records.delivery import Delivery, Origin
from streams.records.target import TargetName
from streams.records.wire import encode_delivery, encode_event
from streams.retry.tiers import RetryTiers
from streams.topics import EVENTS

__all__ = ["Producing", "park_at_rate", "park_long_due", "preload_events"]

_TIMEOUT_S = 300.0
_PARTITIONS = 6
_POOL_S = 0.01
_LONG_AGO_MS = 60_000


def preload_events(bootstrap_servers: str, orders: Sequence[Order]) -> None:
    """Write events to `outbox.events`."""
    run_in_child(_preload_events, bootstrap_servers, orders, timeout_s=_TIMEOUT_S)


def park_long_due(
    bootstrap_servers: str, orders: Sequence[Order], *, tiers: RetryTiers, endpoint: str
) -> None:
    """Write one retry an event, spread over all lanes, all due a minute ago."""
    run_in_child(_park_long_due, bootstrap_servers, orders, tiers, endpoint, timeout_s=_TIMEOUT_S)


def park_at_rate(
    bootstrap_servers: str, orders: Sequence[Order], *, tiers: RetryTiers, endpoint: str, rate_per_s: int
) -> None:
    """Write one retry an event at this rate, as after first, second and third failures: waits of about 1, 2 and 4 s."""
    duration_s = len(orders) / rate_per_s
    run_in_child(
        _park_at_rate,
        bootstrap_servers,
        orders,
        tiers,
        endpoint,
        rate_per_s,
        timeout_s=duration_s + _TIMEOUT_S,
    )


def _preload_events(bootstrap_servers: str, orders: Iterable[Order]) -> None:
    produce = Producing(bootstrap_servers)
    for order in orders:
        event = _event(order)
        produce.send(
            OutgoingRecord(
                topic=EVENTS, key=order.number.encode(), value=event.payload, headers=encode_event(event)
            )
        )
    produce.flush()


def _park_long_due(bootstrap_servers: str, orders: Iterable[Order], tiers: RetryTiers, endpoint: str) -> None:
    produce = Producing(bootstrap_servers)
    due_at_ms = _now_ms() - _LONG_AGO_MS
    for index, order in enumerate(orders):
        lane = tiers.lanes[index % len(tiers.lanes)]
        produce.send(_retry(order, endpoint, topic=lane.topic, partition=lane.partition, due_at_ms=due_at_ms))
    produce.flush()


def _park_at_rate(
    bootstrap_servers: str, orders: Sequence[Order], tiers: RetryTiers, endpoint: str, rate_per_s: int
) -> None:
    produce = Producing(bootstrap_servers)
    rng = random.Random(11)  # noqa: S311 - a load, the same one each time
    started_s = time.monotonic()
    for index, order in enumerate(orders):
        early_s = started_s + index / rate_per_s - time.monotonic()
        if early_s > _POOL_S:
            produce.poll()
            time.sleep(early_s)
        lane = tiers.jittered(1_000 << rng.randrange(3), random=rng.random)
        due_at_ms = _now_ms() + lane.hold_ms
        produce.send(_retry(order, endpoint, topic=lane.topic, partition=lane.partition, due_at_ms=due_at_ms))
    produce.flush()


class Producing:
    """A producer that holds back when its queue is full."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._producer = Producer(producer_config(bootstrap_servers, client_id="benchmark"))

    def send(self, record: OutgoingRecord) -> None:
        """Write a record, when there is room."""
        partition = -1 if record.partition is None else record.partition
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    partition,
                    headers=record.headers,  # type: ignore[arg-type]  # the stub's list is invariant
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def poll(self) -> None:
        """See to what Kafka has answered."""
        self._producer.poll(0)

    def flush(self) -> None:
        """Return when Kafka has all of it."""
        self._producer.flush()


def _retry(order: Order, endpoint: str, *, topic: str, partition: int, due_at_ms: int) -> OutgoingRecord:
    event = _event(order)
    delivery = Delivery(
        event=event,
        target=TargetName("endpoint", endpoint),
        origin=Origin(EVENTS, event.id.int % _PARTITIONS, 0),
        attempt=2,
        first_failed_at_ms=_now_ms(),
    )
    headers = encode_delivery(delivery)
    headers += [("outbox-due-at", b"%d" % due_at_ms), ("outbox-error", b"answered 503 Service Unavailable")]
    return OutgoingRecord(
        topic=topic, key=order.number.encode(), value=event.payload, headers=headers, partition=partition
    )


def _event(order: Order) -> Event:
    event_id: UUID = new_event_id()
    return Event(
        id=event_id,
        type=order.type,
        aggregate_type="order",
        aggregate_id=order.number,
        payload=order.payload.encode(),
        content_type="application/json",
        headers={},
        created_at=datetime.now(UTC),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
