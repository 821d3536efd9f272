"""The API's way to Postgres: a bounded pool of connections, used in as many threads.

Place in the data's way: between the event loop and the operations. Invariants: a statement never blocks the loop; an
operation is one transaction; nothing waits for ever, neither for a connection nor for a row's lock.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from connectors.postgres.connection import connection_parameters, statement_errors

__all__ = ["Database"]

_CONNECTIONS: Final = 8
_WAIT_FOR_CONNECTION_S: Final = 5.0
_DEFAULTS: Final[dict[str, Any]] = {"connect_timeout": 5, "application_name": "outbox-api"}
# For this transaction only: behind a pooler, the connection is somebody else's afterwards.
_LIMITS: Final = """
select set_config('statement_timeout', '10s', true), set_config('lock_timeout', '5s', true)
"""

Result = TypeVar("Result")


class Database:
    """One database. Opens its connections by need, and again when they were lost."""

    def __init__(self, url: str) -> None:
        self._pool = ConnectionPool(
            "",
            kwargs={**_DEFAULTS, **connection_parameters(url), "prepare_threshold": None},
            min_size=0,
            max_size=_CONNECTIONS,
            timeout=_WAIT_FOR_CONNECTION_S,
            # Beyond this, a request is told to come again rather than kept waiting.
            max_waiting=_CONNECTIONS,
            max_idle=60.0,
            check=ConnectionPool.check_connection,
            open=False,
            name="api",
        )
        self._threads = ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="outbox-api")

    def open(self) -> None:
        """Make it usable. Postgres need not be there yet."""
        self._pool.open()

    async def run(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        """Run work in one transaction, in a thread; what it raises rolls the transaction back.

        Raises:
            DatabaseUnreachableError: there is no connection, or it was lost.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)

    async def close(self) -> None:
        """Let what runs end, and close the connections."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        await asyncio.get_running_loop().run_in_executor(None, self._pool.close)

    def _run(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        # A pool that gives no connection in time says so with an OperationalError, too.
        with statement_errors(), self._pool.connection() as connection, connection.transaction():
            connection.execute(_LIMITS)
            return work(connection)
