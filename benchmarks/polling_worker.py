"""The baseline: a polling outbox worker, reimplemented as small as it can be without losing what it does.

Every interval it claims up to so many due rows, under a lock of one minute that others may take over when it
runs out; calls the handler of each row's type; and marks the row completed, or failed with an error code, or
due again after min(base·2^(n−1), 15 min) times a jitter within [0.5, 1.0]. The handler posts the signed webhook
with the same sender as the streaming worker does, so that only the architecture differs. The rows of a batch
are handled side by side, and marked over a few connections; the next batch waits for the slowest of them.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, assert_never
from uuid import UUID, uuid4

import psycopg
import uvloop

from benchmarks.children import answer_questions
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.request import Request
from connectors.webhook.sender import Sender
from connectors.webhook.verdict import Accepted, Refused, TryLater, Verdict, judge

__all__ = ["Counts", "PollingSettings", "polling_delay_s", "serve_polling_worker"]

_BASE_S, _CAP_S, _MAX_ATTEMPTS = 1.0, 900.0, 8
_AT_ONCE = 32  # the default limit of attempts at one endpoint in the streaming worker
_MARKING_CONNECTIONS = 4

_CLAIM: Final = """
update benchmark.polling_outbox
set locked_by = %(worker)s, locked_until = now() + interval '1 minute', attempts = attempts + 1
where id in (
    select id from benchmark.polling_outbox
    where status = 'pending' and due_at <= now() and (locked_until is null or locked_until < now())
    order by due_at limit %(most)s for update skip locked
)
returning id, type, payload, content_type, attempts
"""
_COMPLETE: Final = """
update benchmark.polling_outbox set status = 'completed', finished_at = now(), locked_until = null
where id = %(id)s and locked_by = %(worker)s
"""
_FAIL: Final = """
update benchmark.polling_outbox
set status = 'failed', error_code = %(code)s, finished_at = now(), locked_until = null
where id = %(id)s and locked_by = %(worker)s
"""
_POSTPONE: Final = """
update benchmark.polling_outbox set due_at = now() + %(delay)s, locked_until = null
where id = %(id)s and locked_by = %(worker)s
"""

Handler = Callable[["Claimed"], Awaitable[Verdict]]
_Database = psycopg.AsyncConnection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PollingSettings:
    """How it polls, and where it posts what."""

    database_url: str
    batch_rows: int
    interval_s: float
    endpoint_json: bytes
    event_type: str


class Counts(NamedTuple):
    """What it has done so far. Every statement that it sent is counted, each as one."""

    statements: int
    claims: int


class Claimed(NamedTuple):
    """A row that this worker may handle for a minute."""

    id: UUID
    type: str
    payload: str
    content_type: str
    attempt: int


def polling_delay_s(attempt: int, *, random_share: float) -> float:
    """Give the wait after this attempt; `random_share` is a random number within [0, 1].

    >>> polling_delay_s(3, random_share=1.0), polling_delay_s(20, random_share=0.0)
    (4.0, 450.0)
    """
    return min(_BASE_S * 2.0 ** (attempt - 1), _CAP_S) * (0.5 + 0.5 * random_share)


class _PollingWorker:
    def __init__(self, settings: PollingSettings, *, sender: Sender, rng: random.Random) -> None:
        self._settings = settings
        self._sender = sender
        self._rng = rng
        self._endpoint = Endpoint.from_json(settings.endpoint_json)
        self._handlers: dict[str, Handler] = {settings.event_type: self._post}
        self._worker = f"worker-{uuid4()}"
        self._connections: asyncio.Queue[_Database] = asyncio.Queue()
        self._room = asyncio.Semaphore(_AT_ONCE)
        self.statements = 0
        self.claims = 0

    async def run(self) -> None:
        """Poll until cancelled. A real one would let its batch end; here nothing is measured after that."""
        for _ in range(_MARKING_CONNECTIONS):
            self._connections.put_nowait(
                await psycopg.AsyncConnection.connect(self._settings.database_url, autocommit=True)
            )
        while True:
            started_s = time.monotonic()
            batch = await self._claim()
            async with asyncio.TaskGroup() as tasks:
                for claimed in batch:
                    tasks.create_task(self._handle(claimed))
            await asyncio.sleep(max(started_s + self._settings.interval_s - time.monotonic(), 0.0))

    async def _claim(self) -> list[Claimed]:
        self.claims += 1
        rows = await self._execute(_CLAIM, most=self._settings.batch_rows, fetch=True)
        return [Claimed(*row) for row in rows]

    async def _handle(self, claimed: Claimed) -> None:
        async with self._room:
            handler = self._handlers.get(claimed.type)
            if handler is None:
                await self._execute(_FAIL, id=claimed.id, code="HANDLER_NOT_REGISTERED")
                return
            verdict = await handler(claimed)
        match verdict:
            case Accepted():
                await self._execute(_COMPLETE, id=claimed.id)
            case Refused():
                await self._execute(_FAIL, id=claimed.id, code="HANDLER_PERMANENT_FAILURE")
            case TryLater() if claimed.attempt >= _MAX_ATTEMPTS:
                await self._execute(_FAIL, id=claimed.id, code="HANDLER_TEMPORARY_FAILURE")
            case TryLater():
                delay_s = polling_delay_s(claimed.attempt, random_share=self._rng.random())
                await self._execute(_POSTPONE, id=claimed.id, delay=timedelta(seconds=delay_s))
            case _:
                assert_never(verdict)

    async def _post(self, claimed: Claimed) -> Verdict:
        answer = await self._sender.send(
            Request(
                endpoint=self._endpoint,
                message_id=str(claimed.id),
                timestamp=datetime.now(UTC),
                body=claimed.payload.encode(),
                content_type=claimed.content_type,
            )
        )
        return judge(answer, datetime.now(UTC))

    async def _execute(
        self, statement: str, *, fetch: bool = False, **values: object
    ) -> list[tuple[Any, ...]]:
        connection = await self._connections.get()
        try:
            self.statements += 1
            cursor = await connection.execute(statement, {"worker": self._worker, **values})
            return await cursor.fetchall() if fetch else []
        finally:
            self._connections.put_nowait(connection)


def serve_polling_worker(pipe: "Connection[Any, Any]", settings: PollingSettings) -> None:
    """Run one in this process until the pipe ends; answer every message on it with its `Counts` so far."""
    uvloop.run(_serve(pipe, settings))


async def _serve(pipe: "Connection[Any, Any]", settings: PollingSettings) -> None:
    async with Sender() as sender:
        worker = _PollingWorker(settings, sender=sender, rng=random.Random())  # noqa: S311 - it spreads retries
        parent_gone = answer_questions(pipe, lambda _question: Counts(worker.statements, worker.claims))
        polling = asyncio.ensure_future(worker.run())
        await asyncio.wait((parent_gone, polling), return_when=asyncio.FIRST_COMPLETED)
        if polling.done():
            polling.result()
        polling.cancel()
