"""The API's way to Postgres: a bounded pool of connections, used in as many threads.

Place in the data's way: between the event loop and the operations; one for the endpoints, and one for the delivery
log, whose reading may take long. Invariants: a statement never blocks the loop; an operation is one transaction;
nothing waits for ever, neither for a connection nor for a row's lock.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from connectors.postgres.connection import connection_parameters, statement_errors
from streams.api.problem import Problem, ProblemError

__all__ = ["Database"]

_WAIT_FOR_CONNECTION_S: Final = 5.0
_DEFAULTS: Final[dict[str, Any]] = {"connect_timeout": 5, "application_name": "outbox-api"}
# For this transaction only: behind a pooler, the connection is somebody else's afterwards.
_LIMITS: Final = """
select set_config('statement_timeout', %(statement_ms)s, true), set_config('lock_timeout', %(lock_ms)s, true)
"""

Result = TypeVar("Result")


class Database:
    """One database. Opens its connections by need, and again when they were lost.

    Args:
        url: where it is.
        name: of its threads.
        connections: how many at most.
        at_work: how much work may be begun or waiting.
        longest: how long a statement may take. One that waits for a lock ends after half of it.
    """

    def __init__(self, url: str, *, name: str, connections: int, at_work: int, longest: timedelta) -> None:
        longest_ms = round(longest / timedelta(milliseconds=1))
        self._limits = {"statement_ms": str(longest_ms), "lock_ms": str(max(1, longest_ms // 2))}
        self._most_at_work = at_work
        self._at_work = 0
        self._pool = ConnectionPool(
            "",
            kwargs={**_DEFAULTS, **connection_parameters(url), "prepare_threshold": None},
            min_size=0,
            max_size=connections,
            timeout=_WAIT_FOR_CONNECTION_S,
            # Beyond this, a request is told to come again rather than kept waiting.
            max_waiting=connections,
            max_idle=60.0,
            check=ConnectionPool.check_connection,
            open=False,
            name=name,
        )
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix=f"outbox-{name}")

    def open(self) -> None:
        """Make it usable. Postgres need not be there yet."""
        self._pool.open()

    async def run(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        """Run work in one transaction, in a thread; what it raises rolls the transaction back.

        Raises:
            DatabaseUnreachableError: there is no connection, or it was lost.
            ProblemError: too much is at work already.
        """
        if self._at_work >= self._most_at_work:
            detail = "Too many requests of this kind are at work. Try again."
            raise ProblemError(Problem(kind="unavailable", detail=detail, headers={"Retry-After": "1"}))
        self._at_work += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)
        finally:
            self._at_work -= 1

    async def close(self) -> None:
        """Let what runs end, and close the connections."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        await asyncio.get_running_loop().run_in_executor(None, self._pool.close)

    def _run(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        # A pool that gives no connection in time says so with an OperationalError, too.
        with statement_errors(), self._pool.connection() as connection, connection.transaction():
            connection.execute(_LIMITS, self._limits)
            return work(connection)
