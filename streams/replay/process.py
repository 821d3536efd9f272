"""Replayers in the API's process: threads that look for replays, and execute them.

Place in the data's way: started with the server, woken by its requests; they look by themselves as well, for what a
process that was killed has left over and for what other processes were asked for. Each thread has connections of its
own, so that no request ever waits for a replay. Resends have a thread to themselves: none waits until a recovery of a
million events has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Final

import structlog

from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.errors import PostgresError
from connectors.postgres.replay_claim import ReplayClaims
from connectors.postgres.stored_replay import ReplayKind
from streams.replay.completeness import KeptCompleteness
from streams.replay.outlet import Outlet
from streams.replay.release import release_letters
from streams.replay.replayer import Came, Replayer
from streams.replay.sources import Sources
from streams.replay.turns import Turns
from streams.settings import Settings

__all__ = ["LONG", "SHORT", "ReplayThreads", "new_replayer", "release_here", "replay_here"]

_log = structlog.get_logger("streams.replay")

SHORT: Final[tuple[ReplayKind, ...]] = ("resend",)
"""Kinds that are one record."""

LONG: Final[tuple[ReplayKind, ...]] = ("redrive", "recovery", "range")
"""Kinds that may be a million."""

_LONG_AT_ONCE: Final = 3
_LOOK_EVERY_S: Final = 3.0
#: A replay that may not begin yet has five seconds of a thread, and the others theirs.
_ASKS: Final = 10
_STOP_WITHIN_S: Final = 10.0


def new_replayer(
    settings: Settings,
    *,
    stopping: threading.Event,
    kept: KeptCompleteness | None = None,
    asks: int | None = None,
) -> Replayer:
    """A replayer for one thread, which ends when `stopping` is set. `asks` is as `Replayer` has it."""
    servers = settings.kafka_bootstrap_servers
    offsets = TopicOffsets(servers)
    return Replayer(
        new_source=Sources(settings, offsets=offsets, kept=kept),
        new_outlet=lambda: Outlet(servers, offsets=offsets),
        pause=lambda seconds: _pause(stopping, seconds),
        stopping=stopping.is_set,
        monotonic_s=time.monotonic,
        asks=asks,
    )


def replay_here(settings: Settings, replay_id: str, *, stopping: threading.Event) -> bool:
    """Execute one replay in this thread, unless another process does already.

    Returns:
        Whether it was executed here to its end. If not, somebody else has it, it has ended, or something is away.

    Raises:
        PostgresError: as Postgres says.
    """
    claims = ReplayClaims(settings.database_url.get_secret_value())
    try:
        claim = claims.claim((*SHORT, *LONG), replay_id=replay_id)
        return claim is not None and new_replayer(settings, stopping=stopping).execute(claim) == "ended"
    finally:
        claims.close()


def release_here(settings: Settings) -> None:
    """Open the letters again that redrives were given and did not send because they ended early.

    Raises:
        PostgresError: as Postgres says.
    """
    servers = settings.kafka_bootstrap_servers
    offsets = TopicOffsets(servers)
    sources = Sources(settings, offsets=offsets)
    claims = ReplayClaims(settings.database_url.get_secret_value())
    try:
        while release_letters(claims, sources, lambda: Outlet(servers, offsets=offsets), _passed):
            pass
    finally:
        claims.close()


class ReplayThreads:
    """The threads of one process.

    Args:
        settings: where Postgres and Kafka are.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stopping = threading.Event()
        self._news = threading.Condition()
        self._told = 0
        self._turns = Turns(monotonic_s=time.monotonic)
        self._kept = KeptCompleteness(TopicOffsets(settings.kafka_bootstrap_servers))
        self._threads = [
            threading.Thread(target=self._work, args=(kinds,), name=f"outbox-replayer-{number}", daemon=True)
            for number, kinds in enumerate((SHORT, *[LONG] * _LONG_AT_ONCE))
        ]

    def start(self) -> None:
        """Look for replays from now on. Without Kafka's address there is nothing that could be done about them."""
        if not self._settings.kafka_bootstrap_servers:
            return
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Look at once: there is a new one."""
        with self._news:
            self._told += 1
            self._news.notify_all()

    def stop(self) -> None:
        """Let go of what is under way: others go on with it. May be called again, and before a start."""
        self._stopping.set()
        self.wake()
        end_s = time.monotonic() + _STOP_WITHIN_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end_s - time.monotonic()))

    def _work(self, kinds: Collection[ReplayKind]) -> None:
        claims = ReplayClaims(self._settings.database_url.get_secret_value())
        replayer = new_replayer(self._settings, stopping=self._stopping, kept=self._kept, asks=_ASKS)
        heard, away = 0, False
        while not self._stopping.is_set():
            rested = True
            try:
                came = self._next(claims, kinds, replayer)
                rested = came is None
                if came in {None, "again"} and "redrive" in kinds and self._released(claims):
                    rested = False
                away = False
            except PostgresError as error:
                if not away:
                    _log.warning("replays_not_looked_for", error=str(error))
                away = True
            except Exception:  # noqa: BLE001 - the boundary of the thread: the next replay must not wait for this one
                _log.exception("replayer_defect")
            if rested:
                heard = self._rest(heard)
        with suppress(PostgresError):
            claims.close()

    def _next(self, claims: ReplayClaims, kinds: Collection[ReplayKind], replayer: Replayer) -> Came | None:
        """Execute the replay whose turn it is; None if there is none. One that can't get on leaves the rest theirs."""
        claim = claims.claim(kinds, put_off=self._turns.resting(), came_back=self._turns.all())
        if claim is None:
            return None
        came = replayer.execute(claim)
        if came == "again":
            self._turns.came_back(claim.replay_id)
        return came

    def _released(self, claims: ReplayClaims) -> bool:
        """Whether a redrive that was stopped had letters to be opened again."""
        servers = self._settings.kafka_bootstrap_servers
        offsets = TopicOffsets(servers)
        return release_letters(
            claims,
            Sources(self._settings, offsets=offsets),
            lambda: Outlet(servers, offsets=offsets),
            lambda seconds: not self._stopping.wait(seconds),
        )

    def _rest(self, heard: int) -> int:
        """Wait for news, or until it is time to look again; give what was heard of by then."""
        with self._news:
            if self._told == heard:
                self._news.wait(_LOOK_EVERY_S)
            return self._told


def _pause(stopping: threading.Event, seconds: float) -> None:
    stopping.wait(seconds)


def _passed(seconds: float) -> bool:
    time.sleep(seconds)
    return True
