"""The API's way to Postgres: a bounded pool of connections, used in as many threads.

Place in the data's way: between the event loop and the operations; one for the endpoints, and one for the delivery
log, whose reading may take long. Invariants: a statement never blocks the loop; an operation is one transaction;
nothing waits for ever, neither for a connection nor for a row's lock, nor for a Postgres that has fallen silent.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, Final, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from connectors.postgres.connection import SILENCE_PARAMETERS, connection_parameters, statement_errors
from connectors.postgres.errors import StatementTimeoutError
from streams.api.problem import Problem, ProblemError
from streams.api.work import Work

__all__ = ["Database"]

_WAIT_FOR_CONNECTION_S: Final = 5.0
#: For so long one attempt to connect is repeated on its own, ever more seldom; then the next request begins anew. Long,
#: it would leave the API without a database for as long again as the outage took.
_RECONNECT_S: Final = 2.0
_DEFAULTS: Final[dict[str, Any]] = {
    "connect_timeout": 5,
    "application_name": "outbox-api",
    **SILENCE_PARAMETERS,
}
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
        longest: how long a statement may take. All the work of a request, with its wait for a connection, has that and
            `_WAIT_FOR_CONNECTION_S` more; then it is broken off.
        longest_for_lock: how long a statement may wait for a row that somebody holds. Short: who waits takes a thread
            from the others.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        connections: int,
        at_work: int,
        longest: timedelta,
        longest_for_lock: timedelta,
    ) -> None:
        self._limits = {"statement_ms": _milliseconds(longest), "lock_ms": _milliseconds(longest_for_lock)}
        self._deadline_s = _WAIT_FOR_CONNECTION_S + longest.total_seconds()
        self._room = threading.BoundedSemaphore(at_work)
        self._of_thread = threading.local()
        self._pool = ConnectionPool(
            "",
            kwargs={**_DEFAULTS, **connection_parameters(url), "prepare_threshold": None},
            min_size=0,
            max_size=connections,
            timeout=_WAIT_FOR_CONNECTION_S,
            # No bound but the threads, as many as connections. The pool counts those that have given up waiting, too,
            # and who is refused for their sake doesn't make it connect again.
            max_waiting=0,
            max_idle=60.0,
            reconnect_timeout=_RECONNECT_S,
            check=self._check,
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
            StatementTimeoutError: there was no answer in time.
            ProblemError: too much is at work already.
        """
        if not self._room.acquire(blocking=False):
            detail = "Too many requests of this kind are at work. Try again."
            raise ProblemError(Problem(kind="unavailable", detail=detail, headers={"Retry-After": "1"}))
        hold = Work()
        future = self._threads.submit(self._run, work, hold)
        # When the thread is done with it, which may be after its request is.
        future.add_done_callback(lambda _: self._room.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._deadline_s)
        except TimeoutError:
            raise StatementTimeoutError(
                f"Postgres gave no answer in {self._deadline_s:g} s, and the work was broken off. Check that it can "
                "be reached from here."
            ) from None
        finally:
            hold.break_off()

    async def close(self) -> None:
        """Let what runs end, and close the connections. What nobody waits for any more was broken off."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        await asyncio.get_running_loop().run_in_executor(None, self._pool.close)

    def _run(self, work: Callable[[psycopg.Connection[Any]], Result], hold: Work) -> Result:
        self._of_thread.hold = hold
        # A pool that gives no connection in time says so with an OperationalError, too.
        with statement_errors(), self._pool.connection() as connection:
            try:
                with connection.transaction():
                    connection.execute(_LIMITS, self._limits)
                    return work(connection)
            finally:
                hold.leave()

    def _check(self, connection: psycopg.Connection[Any]) -> None:
        """Check a connection that the pool is about to give to this thread, which holds it from here on."""
        hold: Work = self._of_thread.hold
        hold.take(connection)
        ConnectionPool.check_connection(connection)


def _milliseconds(length: timedelta) -> str:
    return str(round(length / timedelta(milliseconds=1)))
