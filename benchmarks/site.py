"""The site of a benchmark run: one embedded stack, set up, with a receiver, endpoints and an empty way to them.

Everything is on this machine, and all of it goes away at the end.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from pydantic import SecretStr

from benchmarks.errors import BenchmarkError
from benchmarks.load import append_in_bulk
from benchmarks.orders import Order
from benchmarks.polling_table import CREATE_TABLES
from benchmarks.programs import Program, running
from benchmarks.receiver import Receiver
from benchmarks.topics import Topics
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from devstack.progress import ProgressListener
from devstack.settings import StackSettings
from devstack.stack import EmbeddedStack, temporary_stack
from outbox.event_filter import EventFilter
from streams.retry.tiers import RetryTiers
from streams.settings import Settings
from streams.setup import run_setup
from streams.topics import (
    ATTEMPTS,
    ENDPOINTS,
    EVENTS,
    RECORDER_GROUP,
    REDELIVERY,
    SCHEDULER_GROUP,
    WORKER_GROUP,
)

__all__ = ["ENDPOINTS_READY", "Site", "endpoint_id", "family", "open_site"]

#: How many ports the receiver has.
ENDPOINTS_READY = 21
_TOLD_WITHIN_S = 30.0
_PROBED_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """What a benchmark has at hand."""

    stack: EmbeddedStack
    addresses: StackSettings
    receiver: Receiver
    topics: Topics
    tiers: RetryTiers

    def worker(self, **settings: str) -> AbstractContextManager[Program]:
        """Run a worker. It is told where Kafka is and nothing of Postgres (INV-10)."""
        environment = {
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": self.addresses.kafka_bootstrap_servers,
            "OUTBOX_ENDPOINT_ALLOWED_NETWORKS": "127.0.0.0/8",
            "OUTBOX_LOG_LEVEL": "warning",
            **settings,
        }
        return running("worker", environment=environment, logs=self._logs)

    def scheduler(self) -> AbstractContextManager[Program]:
        """Run a scheduler."""
        environment = {
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": self.addresses.kafka_bootstrap_servers,
            "OUTBOX_CONNECT_URL": self.addresses.connect_url,
            "OUTBOX_LOG_LEVEL": "warning",
        }
        return running("scheduler", environment=environment, logs=self._logs)

    def recorder(self) -> AbstractContextManager[Program]:
        """Run a recorder."""
        environment = {
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": self.addresses.kafka_bootstrap_servers,
            "OUTBOX_DATABASE_URL": self.addresses.database_url,
            "OUTBOX_LOG_LEVEL": "warning",
        }
        return running("recorder", environment=environment, logs=self._logs)

    def servers(self) -> dict[str, int]:
        """Process ids of what always runs, by the names they have in tables."""
        pids = {"Kafka": self.stack.kafka.pid, "Connect with Debezium": self.stack.connect.pid}
        pids["Postgres"] = self.stack.postgres.pid
        missing = [name for name, pid in pids.items() if pid is None]
        if missing:
            raise BenchmarkError(f"{', '.join(missing)} died; see the logs in {self._logs}")
        return {name: pid for name, pid in pids.items() if pid is not None}

    def clear_way(self) -> None:
        """Forget what earlier measurements left on Kafka, so that it isn't in the way. No program may run."""
        self.topics.skip_to_end(WORKER_GROUP, (EVENTS, REDELIVERY))
        self.topics.skip_to_end(SCHEDULER_GROUP, self.tiers.topics)
        self.topics.skip_to_end(RECORDER_GROUP, (ATTEMPTS,))
        self.receiver.take()

    def endpoints_for(self, filters: Sequence[str]) -> tuple[Endpoint, ...]:
        """Make one endpoint for each filter, each on a port of its own, and store none."""
        return tuple(
            Endpoint(
                id=endpoint_id(number),
                url=f"http://127.0.0.1:{self.receiver.ports[number]}/webhooks/orders",
                event_types=(EventFilter(pattern),),
                secrets=(Secret.generate(),),
                created_at=datetime.now(UTC),
            )
            for number, pattern in enumerate(filters)
        )

    def set_endpoints(self, filters: Sequence[str]) -> tuple[Endpoint, ...]:
        """Have exactly these endpoints, and wait until Kafka has been told."""
        endpoints = self.endpoints_for(filters)
        before = self.topics.ends(ENDPOINTS)
        with psycopg.connect(self.addresses.database_url) as connection:
            store = EndpointStore(connection)
            old = store.list()
            for endpoint in old:
                store.remove(endpoint.id)
            for endpoint in endpoints:
                store.add(endpoint)
        deadline = time.monotonic() + _TOLD_WITHIN_S
        while self.topics.written_since(before) < len(old) + len(endpoints):
            if time.monotonic() > deadline:
                raise BenchmarkError("Debezium doesn't carry the endpoints to Kafka; see the log of Connect")
            time.sleep(0.1)
        return endpoints

    def probe(self, order: Order) -> None:
        """Send one event through everything, and return when it has arrived: all that is needed is up."""
        self.receiver.take()
        append_in_bulk(self.addresses.database_url, [order])
        self.receiver.require(1, patience_s=_PROBED_WITHIN_S, what="the probe before a measurement")
        self.receiver.take()

    @property
    def _logs(self) -> Path:
        return self.stack.state_dir / "logs"


def endpoint_id(number: int) -> str:
    """Name the endpoint on the receiver's port of this number."""
    return f"ep_benchmark_{number:02d}"


@contextmanager
def open_site(on_progress: ProgressListener) -> Iterator[Site]:
    """Start everything that every benchmark needs, and end it after the block."""
    with temporary_stack(on_progress) as stack:
        addresses = stack.settings
        settings = Settings(
            database_url=SecretStr(addresses.database_url),
            kafka_bootstrap_servers=addresses.kafka_bootstrap_servers,
            connect_url=addresses.connect_url,
        )
        asyncio.run(run_setup(settings, dry_run=False, on_step=lambda _: None))
        with psycopg.connect(addresses.database_url, autocommit=True) as connection:
            for statement in CREATE_TABLES:
                connection.execute(statement)
        receiver = Receiver(endpoints=ENDPOINTS_READY)
        try:
            yield Site(
                stack=stack,
                addresses=addresses,
                receiver=receiver,
                topics=Topics(addresses.kafka_bootstrap_servers),
                tiers=RetryTiers(settings.tiers, lanes=settings.lanes),
            )
        finally:
            receiver.stop()


def family(site: Site, programs: Mapping[str, Program]) -> dict[str, int]:
    """Process ids of everything that works on deliveries, programs first."""
    return {**{name: program.pid for name, program in programs.items()}, **site.servers()}
