"""The recorder process: a recorder for each topic, each in its thread, until it is asked to stop.

Invariant: where one of them can't go on, the process ends and says so; it is never half a recorder.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from connectors.postgres.dead_letter_writer import DeadLetterWriter
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from streams.recorder.attempt_log import AttemptLog
from streams.recorder.keeper import Keeper, Log
from streams.recorder.letter import LETTERS_SOURCE
from streams.recorder.recorder import Recorder
from streams.recorder.retention import Retention
from streams.recorder.source import ATTEMPTS_SOURCE, Source
from streams.settings import Settings

__all__ = ["run_recorder"]


async def run_recorder(settings: Settings, *, stop: asyncio.Event) -> None:
    """Run until `stop` is set.

    Raises:
        RecorderFailed: it can't go on; restart the process.
    """
    url = settings.database_url.get_secret_value()
    attempts_kept = Retention(settings.log_retention_days)
    letters_kept = Retention.of_hours(settings.dead_letter_retention_hours)
    recorders = (
        _recorder(settings, ATTEMPTS_SOURCE, AttemptLog(DeliveryLogWriter(url)), attempts_kept),
        _recorder(settings, LETTERS_SOURCE, DeadLetterWriter(url), letters_kept),
    )
    ended = threading.Event()

    def run(recorder: Recorder[Any]) -> None:
        try:
            recorder.run(lambda: stop.is_set() or ended.is_set())
        finally:
            ended.set()  # and so do the others end

    loop = asyncio.get_running_loop()
    runs = (loop.run_in_executor(None, run, recorder) for recorder in recorders)
    results = await asyncio.gather(*runs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


def _recorder(settings: Settings, source: Source[Any], log: Log[Any], retention: Retention) -> Recorder[Any]:
    return Recorder(
        settings.kafka_bootstrap_servers,
        source=source,
        keeper=Keeper(log, topic=source.topic, retention=retention, monotonic_s=time.monotonic),
        session_timeout_s=settings.session_timeout_s,
        monotonic_s=time.monotonic,
    )
