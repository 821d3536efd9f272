"""The performance on a started stack: setup, endpoints, processes, orders; then everything is stopped and judged.

What is judged was seen by others than the processor: the shop, the receivers, the handlers, a plain consumer.
"""

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from functools import partial

from pydantic import SecretStr

from connectors.postgres.connection import connect
from connectors.postgres.endpoints import EndpointStore
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.secret import Secret
from demo.children import Child, running
from demo.evidence import Evidence
from demo.expectation import expectations
from demo.handler_calls import CallsFile
from demo.handlers import CALLS_FILE_VARIABLE
from demo.numbers import count
from demo.readiness import endpoints_are_told, groups_are_ready
from demo.receiver import Receiver, receiving
from demo.screen import Screen
from demo.shop import count_orders, open_shop, sell
from demo.story import SUBSCRIBERS, orders, pauses_s
from demo.summary import summarise
from demo.topics import Topics
from demo.verdict import Verdict, is_complete, judge
from devstack.stack import EmbeddedStack
from outbox.event_filter import EventFilter
from streams.settings import Settings
from streams.setup import run_setup
from streams.topics import SCHEDULER_GROUP, WORKER_GROUP, retry_topic

__all__ = ["Performance"]

_ORDERS_PER_SECOND = 30.0
_COMPLETE_WITHIN = timedelta(seconds=45)
_LOOK_EVERY_S = 0.2

_WORKER_SETTINGS: Mapping[str, str] = {
    # An endpoint's first two waits, so that a failure goes through retry-1s and retry-2s while one looks on.
    "OUTBOX_ENDPOINT_SCHEDULE": "1s,2s,4s,8s",
    "OUTBOX_ENDPOINT_ALLOWED_NETWORKS": "127.0.0.0/8",
}
_COMMANDS: Mapping[str, list[str]] = {
    "worker": ["worker", "--handlers", "demo.handlers"],
    "scheduler": ["scheduler"],
}


class Performance:
    """One run of the demo."""

    def __init__(self, stack: EmbeddedStack, screen: Screen) -> None:
        self._stack = stack
        self._addresses = stack.settings
        self._screen = screen
        self._rng = random.Random()  # noqa: S311 - it makes orders up
        self._evidence = Evidence()
        self._settings = Settings(
            database_url=SecretStr(self._addresses.database_url),
            kafka_bootstrap_servers=self._addresses.kafka_bootstrap_servers,
            connect_url=self._addresses.connect_url,
        )

    async def play(self) -> Verdict:
        """Run it to its end, draw the summary, and give the verdict."""
        await self._set_up()
        secrets = {subscriber.name: Secret.generate() for subscriber in SUBSCRIBERS}
        receiver = Receiver(
            self._evidence, secrets={name: secret.reveal() for name, secret in secrets.items()}
        )
        async with receiving(receiver):
            await self._add_endpoints(receiver, secrets)
            await self._deliver()
        expected = expectations(self._evidence.committed)
        verdict = judge(expected, self._evidence)
        summarise(self._screen.console, self._evidence, verdict)
        return verdict

    async def _set_up(self) -> None:
        with self._screen.doing("Setting up: schema, replication slot, topics, connector") as tell:
            await run_setup(self._settings, dry_run=False, on_step=lambda step: tell(str(step)))
            await asyncio.to_thread(open_shop, self._addresses.database_url)

    async def _add_endpoints(self, receiver: Receiver, secrets: Mapping[str, Secret]) -> None:
        endpoints = [
            Endpoint(
                id=subscriber.endpoint_id,
                url=receiver.url(subscriber),
                event_types=(EventFilter(subscriber.events),),
                secrets=(secrets[subscriber.name],),
                description=subscriber.what,
                created_at=datetime.now(UTC),
            )
            for subscriber in SUBSCRIBERS
        ]
        with self._screen.doing(f"Adding {len(endpoints)} webhook endpoints"):
            await asyncio.to_thread(_store, self._addresses.database_url, endpoints)
            await endpoints_are_told(
                self._addresses.kafka_bootstrap_servers, ids={endpoint.id for endpoint in endpoints}
            )

    async def _deliver(self) -> None:
        # Beside the logs, which go with the stack, also when the demo is killed.
        calls = CallsFile(self._stack.state_dir / "logs" / "handler-calls.jsonl", self._evidence)
        environment = {
            **self._addresses.as_env(),
            **_WORKER_SETTINGS,
            CALLS_FILE_VARIABLE: str(calls.path),
        }
        with (
            closing(await asyncio.to_thread(self._watched_topics)) as topics,
            running(_COMMANDS, state_dir=self._stack.state_dir, environment=environment) as children,
        ):
            await self._wait_until_ready(children)
            await self._sell_and_watch(children, topics, calls)
            with self._screen.doing("Stopping worker and scheduler with SIGTERM"):
                await asyncio.gather(*(asyncio.to_thread(child.stop) for child in children))
            await asyncio.to_thread(topics.read_to_end)
            calls.read()
            self._evidence.orders_stored = await asyncio.to_thread(count_orders, self._addresses.database_url)

    async def _wait_until_ready(self, children: Sequence[Child]) -> None:
        settings = self._settings
        partitions = {
            WORKER_GROUP: 2 * settings.partitions,
            SCHEDULER_GROUP: len(settings.tiers) * settings.lanes,
        }
        with self._screen.doing("Starting `outbox worker --handlers demo.handlers` and `outbox scheduler`"):
            await groups_are_ready(
                self._addresses.kafka_bootstrap_servers,
                partitions=partitions,
                check=lambda: _check(children),
            )

    async def _sell_and_watch(self, children: Sequence[Child], topics: Topics, calls: CallsFile) -> None:
        with self._screen.watching() as show:
            async with self._selling() as selling:
                deadline: float | None = None
                while deadline is None or time.monotonic() < deadline:
                    _check(children)
                    await asyncio.to_thread(topics.read, timeout_s=_LOOK_EVERY_S)
                    calls.read()
                    expected = expectations(self._evidence.committed)
                    show(count(expected, self._evidence))
                    if selling.done():
                        selling.result()
                        deadline = deadline or time.monotonic() + _COMPLETE_WITHIN.total_seconds()
                        if is_complete(expected, self._evidence):
                            break

    @asynccontextmanager
    async def _selling(self) -> AsyncIterator["asyncio.Future[None]"]:
        """The shop in a thread of its own; it closes when the block ends."""
        closed = threading.Event()
        work = partial(
            sell,
            orders(self._rng),
            database_url=self._addresses.database_url,
            pauses_s=pauses_s(self._rng, per_second=_ORDERS_PER_SECOND),
            evidence=self._evidence,
            closed=closed,
        )
        selling = asyncio.get_running_loop().run_in_executor(None, work)
        try:
            yield selling
        finally:
            closed.set()
            await asyncio.wait([selling])

    def _watched_topics(self) -> Topics:
        return Topics(
            self._addresses.kafka_bootstrap_servers,
            retry_topics=[retry_topic(tier) for tier in self._settings.tiers],
            evidence=self._evidence,
        )


def _store(database_url: str, endpoints: Sequence[Endpoint]) -> None:
    with connect(database_url) as connection:
        for endpoint in endpoints:
            EndpointStore(connection).add(endpoint)


def _check(children: Sequence[Child]) -> None:
    for child in children:
        child.check()
