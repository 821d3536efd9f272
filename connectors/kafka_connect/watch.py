"""The connector watch: a failed task stays failed until somebody restarts it, so something of ours does.

Place in the data's way: beside Debezium. One runs in each scheduler process; that several may restart the
same task does no harm, because only what failed is restarted. Invariants: the first restart is at once; the
pause before each next one doubles up to a bound, and starts again from the least only after the connector has
been well for a while, so that a cause that stays (a lost slot, a wrong password) is not hammered. A look that
fails never ends the loop. What was stopped or paused on purpose is left alone.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Protocol

from connectors.kafka_connect.connector import CONNECTOR_NAME
from connectors.kafka_connect.errors import ConnectEdgeError
from connectors.kafka_connect.status import ConnectorStatus

__all__ = ["ConnectorWatch", "RestartPolicy", "WatchState", "WatchedConnect", "decide"]

_log = logging.getLogger("connectors.kafka_connect.watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPolicy:
    """How often to look, and how the pauses between restarts grow."""

    look_every: timedelta = timedelta(seconds=5)
    first_pause: timedelta = timedelta(seconds=2)
    longest_pause: timedelta = timedelta(minutes=1)
    well_after: timedelta = timedelta(minutes=2)

    def pause_s(self, restarts: int) -> float:
        """How long to wait after the n-th restart in a row.

        >>> [RestartPolicy().pause_s(n) for n in (1, 2, 3, 99)]
        [2.0, 4.0, 8.0, 60.0]
        """
        doubled_s = self.first_pause.total_seconds() * 2.0 ** min(restarts - 1, 32)
        return min(doubled_s, self.longest_pause.total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchState:
    """What the watch remembers: restarts in a row, when the next is allowed, since when all is well."""

    restarts: int = 0
    restart_from_s: float = 0.0
    well_since_s: float | None = None


def decide(
    state: WatchState, status: ConnectorStatus | None, *, now_s: float, policy: RestartPolicy
) -> tuple[WatchState, bool]:
    """Decide from a look: the state after it, and whether to restart what failed. `now_s` is monotonic."""
    if status is not None and status.failed:
        if now_s < state.restart_from_s:
            return replace(state, well_since_s=None), False
        restarts = state.restarts + 1
        return WatchState(restarts=restarts, restart_from_s=now_s + policy.pause_s(restarts)), True
    if status is None or not status.running:
        return replace(state, well_since_s=None), False
    well_since_s = now_s if state.well_since_s is None else state.well_since_s
    if now_s - well_since_s >= policy.well_after.total_seconds():
        return WatchState(well_since_s=well_since_s), False
    return replace(state, well_since_s=well_since_s), False


class WatchedConnect(Protocol):
    """What the watch needs of Kafka Connect."""

    async def status(self, name: str) -> ConnectorStatus | None:
        """Give a connector's status."""

    async def restart_failed(self, name: str) -> None:
        """Restart what failed of a connector."""


def _ignore(*_: object) -> None:
    """Do nothing: for who counts nothing."""


@dataclass(slots=True, kw_only=True)
class ConnectorWatch:
    """Looks after the connector until it is told to stop.

    Args:
        connect: Kafka Connect.
        on_restart: called after each restart; counts them in a metric.
        on_look: called after each look with whether the connector runs; sets a gauge.
        clock: monotonic seconds.
    """

    connect: WatchedConnect
    name: str = CONNECTOR_NAME
    policy: RestartPolicy = field(default_factory=RestartPolicy)
    on_restart: Callable[[], None] = _ignore
    on_look: Callable[[bool], None] = _ignore
    clock: Callable[[], float] = time.monotonic
    _state: WatchState = field(default_factory=WatchState, init=False)
    _last_said: str = field(default="", init=False)

    async def run(self, stop: asyncio.Event) -> None:
        """Look every few seconds until `stop` is set."""
        while not stop.is_set():
            await self.look()
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), self.policy.look_every.total_seconds())

    async def look(self) -> None:
        """Look once, and restart what failed if it is time."""
        try:
            status = await self.connect.status(self.name)
            self._say(_description(status))
            self._state, restart = decide(self._state, status, now_s=self.clock(), policy=self.policy)
            if restart and status is not None:
                await self._restart(status)
        except ConnectEdgeError as error:
            self._say(f"can't be asked: {error}")
            self._state, status = replace(self._state, well_since_s=None), None
        self.on_look(status is not None and status.running)

    async def _restart(self, status: ConnectorStatus) -> None:
        _log.warning(
            "restarting the connector name=%s restarts=%d reason=%s",
            self.name,
            self._state.restarts,
            status.failure,
        )
        await self.connect.restart_failed(self.name)
        self.on_restart()

    def _say(self, description: str) -> None:
        """Log what was seen when it is something else than last time: a state, not a heartbeat."""
        if description != self._last_said:
            self._last_said = description
            level = logging.INFO if description == "running" else logging.WARNING
            _log.log(level, "connector %s name=%s", description, self.name)


def _description(status: ConnectorStatus | None) -> str:
    if status is None:
        return "is missing; run outbox setup"
    if status.running:
        return "running"
    if status.failed:
        return f"failed: {status.failure}"
    return f"not running: {', '.join([status.state, *(task.state for task in status.tasks)])}"
