"""Twenty thousand endpoints: what a worker takes to know them all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psutil

from connectors.kafka.record import OutgoingRecord
from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.key_ring import EncryptionKey, KeyRing
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter
from streams import topics
from tests.support.figures import note
from tests.support.pipeline import Pipeline
from tests.support.topics import produce

COUNT = 20_000
KEY = EncryptionKey("k1", b"1" * 32)


def records() -> list[OutgoingRecord]:
    """In the middle of a rotation, with a header, all of it sealed."""
    ring = KeyRing([KEY])
    now = datetime.now(UTC)
    one = Endpoint(
        id="ep_0",
        url="https://receiver.example/in",
        event_types=tuple(map(EventFilter, ("order.*", "customer.created", "invoice.paid"))),
        secrets=(Secret.generate(), Secret.generate().until(now + timedelta(hours=24))),
        headers=(("x-api-key", Confidential("0123456789" * 4)),),
        description="one of very many endpoints",
        created_at=now,
    )
    return [
        OutgoingRecord(
            topic=topics.ENDPOINTS,
            partition=None,
            key=endpoint.id.encode(),
            value=endpoint.to_json(ring),
            headers=[],
        )
        for number in range(COUNT)
        for endpoint in [
            replace(one, id=f"ep_many{number}", url=f"https://t{number}.receiver.example/in?token={number}")
        ]
    ]


def test_twenty_thousand_endpoints_fit_into_a_worker(pipeline: Pipeline) -> None:
    """Less than 200 MB for the whole process; how long the load took is a figure and no assertion."""
    many = records()
    produce(pipeline.kafka, many)
    try:
        worker = pipeline.worker(encryption_keys=KEY.reveal())
        [loaded] = worker.of("endpoints_loaded")
        assert worker.of("worker_started")[0]["endpoints"] >= COUNT
        assert worker.of("endpoints_locked") == []
        resident_mb = psutil.Process(worker.pid).memory_info().rss / 1e6
        assert resident_mb < 200
        note(
            f"{loaded['records']:,} endpoint records loaded in {loaded['duration_ms'] / 1000:.1f} s; "
            f"the worker's memory is {resident_mb:.0f} MB"
        )
    finally:
        produce(pipeline.kafka, [replace(record, value=None) for record in many])
