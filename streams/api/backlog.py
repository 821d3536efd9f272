"""The backlog: how many records wait on Kafka, in each retry tier and before the workers.

Place in the data's way: asked by the API for people who look. Invariants: however many ask, Kafka is asked once a
second at most, and by one thread; nobody waits longer than `WITHIN` allows; a Kafka that is away costs no other
operation anything. Must not: commit, consume or change anything.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from connectors.kafka.groups import ConsumerGroups
from streams.api.kafka_address import kafka_address
from streams.topics import EVENTS, REDELIVERY, SCHEDULER_GROUP, WORKER_GROUP, retry_topic

__all__ = ["WITHIN", "Backlog", "Tier", "Waiting"]

WITHIN: Final = timedelta(seconds=2)
"""How long each of Kafka's answers may take; three follow each other."""

_FRESH_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A retry tier, and how many deliveries wait in it."""

    topic: str
    delay: timedelta
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits: in the tiers, shortest first; on its way back to a worker; and as events no worker has settled."""

    tiers: tuple[Tier, ...]
    redelivery: int
    events: int


class Backlog:
    """Asks Kafka, and keeps each answer, or the lack of one, for a second. Belongs to one event loop.

    Args:
        bootstrap_servers: where Kafka is; empty where that is not said.
        tiers: the delays of the retry tiers, ascending.
        now_s: a clock that never goes back.
    """

    def __init__(
        self, bootstrap_servers: str, *, tiers: Sequence[timedelta], now_s: Callable[[], float]
    ) -> None:
        self._servers = bootstrap_servers
        self._tiers = {retry_topic(delay): delay for delay in tiers}
        self._now_s = now_s
        self._groups: ConsumerGroups | None = None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="outbox-backlog")
        self._asking: asyncio.Future[Waiting] | None = None
        self._asked_until_s = 0.0

    async def now(self) -> Waiting:
        """What waits, as it was within the last second.

        Raises:
            ClusterUnreachable: Kafka gave no answer.
            TopicMissing: a topic is not there.
            ProblemError: where Kafka is was not said.
        """
        kafka_address(self._servers)
        asking = self._asking
        if asking is None or (asking.done() and self._now_s() >= self._asked_until_s):
            asking = asyncio.get_running_loop().run_in_executor(self._threads, self._ask)
            asking.add_done_callback(self._answered)
            self._asking = asking
        # One who goes away takes the answer from nobody else.
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Ask nothing more, and let the question that is out be answered."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    def _answered(self, asked: asyncio.Future[Waiting]) -> None:
        self._asked_until_s = self._now_s() + _FRESH_S
        # Looked at here, or one whom all have left would be reported as never looked at.
        asked.cancelled() or asked.exception()

    def _ask(self) -> Waiting:
        if self._groups is None:
            self._groups = ConsumerGroups(self._servers, timeout=WITHIN)
        of_group = {SCHEDULER_GROUP: tuple(self._tiers), WORKER_GROUP: (EVENTS, REDELIVERY)}
        return self._waiting(self._groups.waiting(of_group))

    def _waiting(self, waiting: Mapping[str, int]) -> Waiting:
        return Waiting(
            tiers=tuple(
                Tier(topic=topic, delay=delay, waiting=waiting[topic]) for topic, delay in self._tiers.items()
            ),
            redelivery=waiting[REDELIVERY],
            events=waiting[EVENTS],
        )
