"""A worker's consuming side on real Kafka, with a scripted target, on topics of its own."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.errors import ProducerFatal
from connectors.kafka.loop_producer import LoopProducer
from connectors.kafka.producer import producer_config
from streams import topics
from streams.commit.lease import Lease
from streams.commit.ledgers import Ledgers
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.window import Window
from streams.records.attempt import Attempt
from streams.settings import Settings
from streams.surroundings import SystemSurroundings
from streams.worker.app import new_app
from tests.support.deliveries import default_tiers
from tests.support.dispatch_bench import event_record
from tests.support.scripted_target import ScriptedDirectory, ScriptedTarget

__all__ = ["OwnTopics", "WorkerBench"]

_ANSWER_S = 30.0


class OwnTopics:
    """Topics and a group that no other test has; every name in `streams.topics` means them."""

    def __init__(self, servers: str, monkeypatch: pytest.MonkeyPatch, *, partitions: int = 2) -> None:
        self.servers = servers
        prefix = f"t{uuid4().hex[:8]}"
        for name in ("EVENTS", "REDELIVERY", "DEAD_LETTER", "ATTEMPTS"):
            monkeypatch.setattr(topics, name, f"{prefix}.{name.lower()}")
        monkeypatch.setattr(topics, "WORKER_GROUP", f"{prefix}-worker")
        self.events = topics.EVENTS
        names = [topics.EVENTS, topics.REDELIVERY, topics.DEAD_LETTER, topics.ATTEMPTS]
        admin = AdminClient({"bootstrap.servers": servers})
        for created in admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
            created.result(_ANSWER_S)
        self._producer = Producer({"bootstrap.servers": servers})

    def produce_events(self, first: int, count: int, *, partition: int = 0) -> None:
        """Events with the ids first + 1, …: `event_record(first)`, … as Debezium would write them."""
        for number in range(first, first + count):
            record = event_record(number)
            self._producer.produce(
                self.events, record.value, record.key, partition, headers=list(record.headers or [])
            )
        assert self._producer.flush(_ANSWER_S) == 0


class WorkerBench:
    """One worker, without endpoints and handlers: every event goes to `target`."""

    def __init__(self, servers: str, *, drain_limit_s: float = 20.0, rebalance_limit_s: float = 5.0) -> None:
        self.settings = Settings(
            kafka_bootstrap_servers=servers,
            drain_limit_s=drain_limit_s,
            rebalance_drain_limit_s=rebalance_limit_s,
            endpoint_timeout_s=drain_limit_s / 2,
            endpoint_first_byte_timeout_s=drain_limit_s / 2,
            endpoint_connect_timeout_s=drain_limit_s / 4,
        )
        self.target = ScriptedTarget("ep_1", concurrency=100)
        self.directory = ScriptedDirectory([self.target])
        self.attempts: list[Attempt] = []
        self.ledgers = Ledgers()
        self.defects: list[Exception] = []
        self._changed = asyncio.Event()
        around = SystemSurroundings()
        self.producer = LoopProducer(
            producer_config(servers, client_id="bench"),
            loop=asyncio.get_running_loop(),
            on_fatal=self._fatal,
        )
        self.lease = Lease(session_s=self.settings.session_timeout_s, monotonic_s=around.monotonic_s)
        self.dispatcher = Dispatcher(
            directory=self.directory,
            producer=self.producer,
            tiers=default_tiers(),
            window=Window(1_000),
            park_wait_s=1.0,
            discard_unrouted=False,
            observe=self._observed,
            surroundings=around,
            may_begin=self.lease.held,
        )
        self.app: Any = new_app(
            self.settings,
            ledgers=self.ledgers,
            lease=self.lease,
            dispatcher=self.dispatcher,
            on_defect=self.defects.append,
        )

    async def start(self) -> None:
        await self.app.start()

    async def stop(self) -> None:
        await self.app.stop()
        await self.producer.flush(timeout_s=5.0)
        self.producer.close()

    async def until(self, holds: Callable[[], bool], *, what: str) -> None:
        """Wait until something holds of this worker."""
        deadline_s = asyncio.get_running_loop().time() + _ANSWER_S
        while not holds():
            assert asyncio.get_running_loop().time() < deadline_s, f"waited in vain for {what}"
            await asyncio.sleep(0.02)

    async def until_assigned(self, partitions: int) -> None:
        await self.until(
            lambda: len(list(self.ledgers)) == partitions and not self.app.rebalancing, what="the assignment"
        )

    def begun(self) -> list[int]:
        """The numbers of the events whose attempts began, as `produce_events` counts them."""
        return [delivery.event.id.int - 1 for delivery in self.target.begun]

    def _observed(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def _fatal(self, error: ProducerFatal) -> None:
        self.defects.append(error)
