"""Waiting until everything is in place, so that the first order is not measured against a process that still starts.

Asked of Kafka itself: the endpoints stand in their topic, and both consumer groups own all their partitions.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta

from connectors.kafka.compacted import CompactedReader
from connectors.kafka.groups import ConsumerGroups
from demo.failure import DemoFailedError
from streams.topics import ENDPOINTS

__all__ = ["endpoints_are_told", "groups_are_ready"]

_WITHIN = timedelta(seconds=60)
_ASK_AGAIN_AFTER_S = 0.1


async def endpoints_are_told(bootstrap_servers: str, *, ids: Collection[str]) -> None:
    """Return when every endpoint stands in `outbox.endpoints`, where workers read them from."""
    told: set[str] = set()
    reader = CompactedReader(
        bootstrap_servers,
        topic=ENDPOINTS,
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
    groups = ConsumerGroups(bootstrap_servers)
    async with _limit("worker and scheduler did not get their partitions"):
        for group, wanted in partitions.items():
            while sum((await asyncio.to_thread(groups.owned_partitions, group)).values()) < wanted:
                check()
                await asyncio.sleep(_ASK_AGAIN_AFTER_S)


@asynccontextmanager
async def _limit(what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(_WITHIN.total_seconds()):
            yield
    except TimeoutError:
        raise DemoFailedError(f"{what} within {_WITHIN.total_seconds():g} s") from None
