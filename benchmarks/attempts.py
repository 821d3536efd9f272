"""Attempt records put straight onto Kafka, as workers would write them, by a process of its own.

Of ten deliveries nine succeed at once, and one needs a retry: two records.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from confluent_kafka import Producer

from benchmarks.children import run_in_child
from connectors.kafka.producer import producer_config
from outbox.event import Event
from outbox.event_id import new_event_id
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.next_hop import Done, Retry
from streams.records.outcome import Failed, Succeeded
from streams.records.target import TargetName
from streams.topics import ATTEMPTS, EVENTS

__all__ = ["preload_attempts"]

_TIMEOUT_S = 300.0
_RETRIED_ONE_IN = 10
_ENDPOINTS = 20


def preload_attempts(bootstrap_servers: str, count: int) -> None:
    """Write so many records to `outbox.attempts`."""
    run_in_child(_preload, bootstrap_servers, count, timeout_s=_TIMEOUT_S)


def _preload(bootstrap_servers: str, count: int) -> None:
    producer = Producer(producer_config(bootstrap_servers, client_id="benchmark"))
    for attempt in _attempts(count):
        key = str(attempt.delivery.event.id).encode()
        while True:
            try:
                producer.produce(ATTEMPTS, attempt.to_json(), key)
            except BufferError:
                producer.poll(0.1)
            else:
                break
    producer.flush()


def _attempts(count: int) -> Iterator[Attempt]:
    made, number = 0, 0
    while made < count:
        number += 1
        first = _first(number)
        if number % _RETRIED_ONE_IN or made + 1 == count:
            yield first
            made += 1
            continue
        tried_again = replace(first.delivery, attempt=2)
        yield replace(
            first,
            outcome=Failed(
                error="answered 503 Service Unavailable", status=503, excerpt="down for maintenance"
            ),
            next_hop=Retry(
                delivery=tried_again,
                topic="outbox.retry-4s",
                partition=0,
                due_at_ms=first.started_at_ms + 4_000,
                not_before_ms=None,
                error="answered 503 Service Unavailable",
            ),
        )
        yield replace(
            first, attempt_id=uuid4(), delivery=tried_again, started_at_ms=first.started_at_ms + 4_010
        )
        made += 2


def _first(number: int) -> Attempt:
    event = Event(
        id=new_event_id(),
        type="order.created",
        aggregate_type="order",
        aggregate_id=f"order-{number}",
        payload=b"{}",
        content_type="application/json",
        headers={},
        created_at=datetime.now(UTC),
    )
    return Attempt(
        attempt_id=uuid4(),
        delivery=Delivery(
            event=event,
            target=TargetName("endpoint", f"ep_benchmark_{number % _ENDPOINTS:02d}"),
            origin=Origin(EVENTS, number % 6, number),
        ),
        outcome=Succeeded(status=204),
        next_hop=Done(),
        started_at_ms=time.time_ns() // 1_000_000,
        duration_ms=4.2,
    )
