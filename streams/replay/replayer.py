"""Executing one replay: read a batch, send what is due of it at the pace that was asked for, store the progress.

Place in the data's way: between `outbox.replays` and `outbox.redelivery`. It runs in the API's process and in the
command line's. Invariants, for a process that is killed at any point (docs/adr/0018):

- No event is left out: progress is stored after Kafka has acknowledged the batch.
- None is sent twice: where `outbox.redelivery` ended is stored before the batch is sent, and who takes over looks
  from there on for what was sent of it.
- Only who holds the claim sends: it is looked at before each batch, and once a second within it.

Must not: know what kind of replay it executes (`Source`), or touch the live group.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Literal

import structlog

from connectors.kafka.errors import KafkaEdgeError
from connectors.postgres.errors import PostgresError
from connectors.postgres.replay_claim import ReplayClaim
from connectors.postgres.stored_replay import Replay
from streams.errors import ReplayRefused
from streams.records.delivery import Delivery
from streams.replay.outlet import Outlet, SentKey, sent_key
from streams.replay.pace import Pace, batch_size
from streams.replay.source import NotYet, Source, Start

__all__ = ["Ended", "Replayer"]

_log = structlog.get_logger("streams.replay")

Ended = Literal["ended", "interrupted", "again"]
"""What came of an execution: it has ended; it was broken off by our stop; something is away, and it goes on later."""

_ASK_AGAIN_S: Final = 0.5
_CHECK_EVERY_S: Final = 1.0
#: Shorter waits are left to add up: a thread can't sleep that exactly.
_LEAST_WAIT_S: Final = 0.005
_FLUSH_S: Final = 0.25
#: Debezium repeats events after a crash, close together: so many are remembered, by id and target.
_REMEMBERED: Final = 50_000


class _Interrupted(Exception):  # noqa: N818 - it ends the work, and is no error
    """Our own stop, or somebody's of this replay."""


class Replayer:
    """Executes claimed replays, one at a time. One thread's.

    Args:
        new_source: makes what a claim's replay sends.
        outlet: where it is sent.
        pause: lets so many seconds pass, or fewer when it is to stop.
        stopping: whether it is to stop.
        monotonic_s: seconds that only go forward.
    """

    def __init__(
        self,
        *,
        new_source: Callable[[Replay, ReplayClaim], Source],
        outlet: Outlet,
        pause: Callable[[float], None],
        stopping: Callable[[], bool],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._new_source = new_source
        self._outlet = outlet
        self._pause = pause
        self._stopping = stopping
        self._monotonic_s = monotonic_s
        self._checked_s = 0.0

    def execute(self, claim: ReplayClaim) -> Ended:
        """Execute a claimed replay to its end, and give the claim up.

        Raises:
            ProducerFatal: the outlet is broken for good; the replay goes on with another.
        """
        with claim:
            replay = claim.replay()
            log = _log.bind(replay_id=replay.id, kind=replay.kind, target=replay.target)
            log.info("replay_begins" if replay.status == "waiting" else "replay_taken_over")
            try:
                self._run(replay, claim)
            except _Interrupted:
                return "ended" if self._is_stopped(claim) else "interrupted"
            except ReplayRefused as error:
                claim.end("failed", error=str(error))
                log.warning("replay_failed", error=str(error))
            except (KafkaEdgeError, PostgresError) as error:
                log.warning("replay_held_up", error=str(error))
                self._tell(claim, str(error))
                return "again"
            ended = claim.replay()
            log.info(
                "replay_ended", status=ended.status, sent=ended.sent, skipped=ended.skipped, error=ended.error
            )
            return "ended"

    def _run(self, replay: Replay, claim: ReplayClaim) -> None:
        raise NotImplementedError
