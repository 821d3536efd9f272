"""The scheduler process: the scheduler in its thread, and beside it the watch that restarts a failed connector."""

import asyncio
from datetime import timedelta

from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.watch import ConnectorWatch
from streams.delay.scheduler import Scheduler
from streams.retry.tiers import RetryTiers
from streams.settings import Settings
from streams.surroundings import SystemSurroundings

__all__ = ["run_scheduler"]


async def run_scheduler(settings: Settings, *, stop: asyncio.Event) -> None:
    """Run until `stop` is set. The connector is watched where `connect_url` says where Kafka Connect is.

    Raises:
        SchedulerFailed: it can't go on; restart the process.
    """
    scheduler = Scheduler(
        settings.kafka_bootstrap_servers,
        tiers=RetryTiers(settings.tiers, lanes=settings.lanes),
        session_timeout_s=settings.session_timeout_s,
        commit_interval_s=timedelta(milliseconds=settings.commit_interval_ms).total_seconds(),
        clock=SystemSurroundings(longest_tier=settings.tiers[-1]),
    )
    moving = asyncio.get_running_loop().run_in_executor(None, scheduler.run, stop.is_set)
    watching = asyncio.ensure_future(_watch(settings.connect_url, stop)) if settings.connect_url else None
    try:
        await moving
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.wait((watching,))


async def _watch(connect_url: str, stop: asyncio.Event) -> None:
    async with ConnectClient(connect_url) as connect:
        await ConnectorWatch(connect=connect).run(stop)
