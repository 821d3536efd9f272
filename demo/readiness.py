"""Waiting until everything is in place, so that the first order is not measured against a process that still starts.

Asked of Kafka itself: the endpoints stand in their topic, and both consumer groups own all their partitions.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from connectors.kafka.compacted import CompactedReader
from demo.failure import DemoFailedError

__all__ = ["endpoints_are_told", "groups_are_ready"]

_ENDPOINTS_TOPIC = "outbox.endpoints"
_WITHIN = timedelta(seconds=60)
_ASK_AGAIN_AFTER_S = 0.1
_ANSWER_WITHIN_S = 10.0


async def endpoints_are_told(bootstrap_servers: str, *, ids: Collection[str]) -> None:
    """Return when every endpoint stands in `outbox.endpoints`, where workers read them from."""
    told: set[str] = set()
    reader = CompactedReader(
        bootstrap_servers,
        topic=_ENDPOINTS_TOPIC,
        client_id="demo",
        apply=lambda key, _: told.add(key.decode()),
    )
    try:
        await asyncio.to_thread(reader.load)
        async with _limit("the endpoints did not reach Kafka"):
            while not told.issuperset(ids):
                await asyncio.to_thread(reader.follow, timeout_s=_ASK_AGAIN_AFTER_S)
    finally:
        reader.close()


async def groups_are_ready(
    bootstrap_servers: str, *, partitions: Mapping[str, int], check: Callable[[], None]
) -> None:
    """Return when the members of each group own so many partitions; `check` raises when waiting is in vain."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    async with _limit("worker and scheduler did not get their partitions"):
        for group, wanted in partitions.items():
            while await asyncio.to_thread(_owned, admin, group) < wanted:
                check()
                await asyncio.sleep(_ASK_AGAIN_AFTER_S)


def _owned(admin: AdminClient, group: str) -> int:
    try:
        future = admin.describe_consumer_groups([group], request_timeout=_ANSWER_WITHIN_S)[group]
        description = future.result()
    except KafkaException:
        return 0  # no such group yet
    if description.state is not ConsumerGroupState.STABLE:
        return 0
    return sum(len(member.assignment.topic_partitions) for member in description.members)


@asynccontextmanager
async def _limit(what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_WITHIN.total_seconds()):
            yield
    except TimeoutError:
        raise DemoFailedError(f"{what} within {_WITHIN.total_seconds():g} s") from None
