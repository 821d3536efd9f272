"""Connections that wait for their next request.

Place in the data's way: the sender takes from it before it dials and gives back after a clean exchange.
Invariants: an idle connection is in exactly one place, its origin's stack; idle ones are bounded in number,
in all and for an origin, and in age; every open connection is known here, so that closing leaves none. It
must not limit how many are in use: that is the dispatcher's choice, made for each endpoint.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from connectors.webhook.connection import Connection
from connectors.webhook.limits import Limits
from connectors.webhook.url import Origin

__all__ = ["Pool"]

_CLOSE_S: Final = 2.0


class Pool:
    """Open connections by origin. Last in, first out: what was used last is least likely to be stale."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._idle_s = limits.idle.total_seconds()
        self._open: dict[Connection, Origin] = {}
        # The same idle connections twice: in the order in which they became idle, and by origin.
        self._idle_since: dict[Connection, float] = {}
        self._idle: dict[Origin, list[Connection]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def open_count(self) -> int:
        """Connections that are open, in use or idle."""
        return len(self._open)

    @property
    def idle_count(self) -> int:
        """Connections that wait for a request."""
        return len(self._idle_since)

    def take(self, origin: Origin) -> Connection | None:
        """Give the most recently used idle connection to an origin, if there is one."""
        stack = self._idle.get(origin)
        if not stack:
            return None
        connection = stack.pop()
        if not stack:
            del self._idle[origin]
        del self._idle_since[connection]
        return connection

    def add(self, origin: Origin, connection: Connection) -> None:
        """Know a new connection, which is in use."""
        self._open[connection] = origin
        connection.when_lost = self._forget

    def give_back(self, connection: Connection) -> None:
        """Keep a connection after an exchange if another may follow on it, else close it."""
        origin = self._open.get(connection)
        if origin is None:
            return
        if not connection.is_clean:
            connection.close()
            return
        stack = self._idle.setdefault(origin, [])
        stack.append(connection)
        loop = asyncio.get_running_loop()
        self._idle_since[connection] = loop.time()
        if len(stack) > self._limits.idle_connections_per_origin:
            self._retire(stack[0])
        elif len(self._idle_since) > self._limits.idle_connections:
            self._retire(next(iter(self._idle_since)))
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle_s, self._retire_old)

    async def close(self) -> None:
        """Close all connections, those in use too. May be called again."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        await _close(tuple(self._open), idle=frozenset(self._idle_since))

    def _retire_old(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep = None
        while self._idle_since:
            connection, since = next(iter(self._idle_since.items()))
            if since + self._idle_s > loop.time():
                self._sweep = loop.call_at(since + self._idle_s, self._retire_old)
                return
            self._retire(connection)

    def _retire(self, connection: Connection) -> None:
        self._drop_idle(connection, self._open[connection])
        connection.close()

    def _forget(self, connection: Connection) -> None:
        origin = self._open.pop(connection)
        if connection in self._idle_since:
            self._drop_idle(connection, origin)

    def _drop_idle(self, connection: Connection, origin: Origin) -> None:
        del self._idle_since[connection]
        stack = self._idle[origin]
        stack.remove(connection)
        if not stack:
            del self._idle[origin]


async def _close(connections: Iterable[Connection], *, idle: frozenset[Connection]) -> None:
    """Close idle connections in order, cut off those in use, and wait for the sockets, but not for ever."""
    connections = tuple(connections)
    for connection in connections:
        if connection in idle:
            connection.close()
        else:
            connection.abort()
    try:
        async with asyncio.timeout(_CLOSE_S):
            for connection in connections:
                await connection.wait_closed()
    except TimeoutError:
        for connection in connections:
            connection.abort()
