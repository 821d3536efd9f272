"""The recorder process: the recorder in its thread, until it is asked to stop."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.judge import Judge
from streams.recorder.keeper import Keeper
from streams.recorder.recorder import Recorder
from streams.recorder.retention import Retention
from streams.settings import Settings

__all__ = ["run_recorder"]


async def run_recorder(settings: Settings, *, stop: asyncio.Event) -> None:
    """Run until `stop` is set.

    Raises:
        RecorderFailed: it can't go on; restart the process.
    """
    url = settings.database_url.get_secret_value()
    recorder = Recorder(
        settings.kafka_bootstrap_servers,
        keeper=Keeper(
            DeliveryLogWriter(url),
            retention=Retention(settings.log_retention_days),
            judge=Judge(
                url, period=settings.endpoint_disable_after, now=_utc_now, monotonic_s=time.monotonic
            ),
            now=_utc_now,
            monotonic_s=time.monotonic,
        ),
        session_timeout_s=settings.session_timeout_s,
        monotonic_s=time.monotonic,
    )
    await asyncio.get_running_loop().run_in_executor(None, recorder.run, stop.is_set)


def _utc_now() -> datetime:
    return datetime.now(UTC)
