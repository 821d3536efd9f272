"""Retries of given events in the lanes of the delay tiers, not due for an hour, written by a process of its own."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from benchmarks.children import run_in_child
from benchmarks.preload import Producing
from connectors.kafka.record import OutgoingRecord
from outbox.event import Event
from streams.records.delivery import Delivery, Origin
from streams.records.target import parse_target
from streams.records.wire import encode_delivery
from streams.retry.tiers import RetryTiers
from streams.topics import EVENTS

__all__ = ["park_events"]

_TIMEOUT_S = 300.0
_HOUR_MS = 3_600_000


def park_events(bootstrap_servers: str, event_ids: Sequence[UUID], *, tiers: RetryTiers, target: str) -> None:
    """Write one retry for each event, spread over all lanes."""
    run_in_child(_park_events, bootstrap_servers, event_ids, tiers, target, timeout_s=_TIMEOUT_S)


def _park_events(bootstrap_servers: str, event_ids: Sequence[UUID], tiers: RetryTiers, target: str) -> None:
    produce = Producing(bootstrap_servers)
    due_at_ms = time.time_ns() // 1_000_000 + _HOUR_MS
    delivery = Delivery(event=_event(), target=parse_target(target), origin=Origin(EVENTS, 0, 0), attempt=2)
    for index, event_id in enumerate(event_ids):
        lane = tiers.lanes[index % len(tiers.lanes)]
        mine = replace(delivery, event=replace(delivery.event, id=event_id))
        headers = [
            *encode_delivery(mine),
            ("outbox-due-at", b"%d" % due_at_ms),
            ("outbox-error", b"answered 503"),
        ]
        produce.send(
            OutgoingRecord(
                topic=lane.topic,
                partition=lane.partition,
                key=mine.event.aggregate_id.encode(),
                value=mine.event.payload,
                headers=headers,
            )
        )
    produce.flush()


def _event() -> Event:
    return Event(
        id=UUID(int=0),
        type="order.created",
        aggregate_type="order",
        aggregate_id="order-1",
        payload=b"{}",
        content_type="application/json",
        headers={},
        created_at=datetime.now(UTC),
    )
