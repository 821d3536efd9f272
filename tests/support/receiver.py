"""A receiver of webhooks that does what a test tells it to, and records what came. Real sockets.

    async with Receiver() as receiver:
        receiver.script("/orders", respond(500), respond(204))   # the last one repeats
        ... send to receiver.url("/orders") ...
        first, second = await receiver.wait_for(2)

Without a script a path answers 204. For a test that isn't async, or that blocks its loop,
`threaded_receiver.py` runs the same in a thread.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from tests.support.answers import Answer, Exchange, reset_connection, respond
from tests.support.received import Received, body_length

__all__ = ["Receiver"]

_WAIT_S = 10.0
_MAX_HEAD_BYTES = 1 << 20


class Receiver:
    """Listens on loopback, on a free port unless told otherwise."""

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", name: str = "", port: int = 0
    ) -> None:
        self._tls = tls
        self._host = host
        self._name = name or (f"[{host}]" if ":" in host else host)
        self.port = port
        self.requests: list[Received] = []
        self.connection_count = 0
        """How many connections were ever accepted."""
        self._by_path: dict[str, list[Received]] = {}
        self._scripts: dict[str, list[Answer]] = {}
        self._writers: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}
        self._busy: set[asyncio.StreamWriter] = set()
        self._changed = asyncio.Event()
        self._server: asyncio.Server | None = None

    def url(self, path: str = "/") -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{self._name}:{self.port}{path}"

    def script(self, path: str, *answers: Answer) -> None:
        """Answer requests to `path` with these, one after another; the last one for all that follow."""
        self._scripts[path] = list(answers)

    def requests_to(self, path: str) -> list[Received]:
        return list(self._come_to(path))

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    async def wait_for(
        self, count: int, *, path: str | None = None, timeout_s: float = _WAIT_S
    ) -> Sequence[Received]:
        """Wait until so many requests have come (to that path), and give them."""

        def come() -> list[Received]:
            return self.requests if path is None else self._come_to(path)

        await self._until(lambda: len(come()) >= count, timeout_s)
        return come()

    async def wait_for_events(
        self, event_ids: Collection[str], *, path: str, timeout_s: float = _WAIT_S
    ) -> None:
        """Wait until a request with each of these webhook ids has come to that path."""
        missing = set(event_ids)
        looked_at = 0

        def all_came() -> bool:
            nonlocal looked_at
            come = self._come_to(path)
            missing.difference_update(request.headers["webhook-id"] for request in come[looked_at:])
            looked_at = len(come)
            return not missing

        await self._until(all_came, timeout_s)

    async def wait_for_connections(self, count: int, *, timeout_s: float = _WAIT_S) -> None:
        """Wait until exactly so many connections are open."""
        await self._until(lambda: self.open_connections == count, timeout_s)

    def close_idle(self, *, with_reset: bool = False) -> None:
        """Close the connections on which no request is being answered."""
        for writer in set(self._writers) - self._busy:
            if with_reset:
                reset_connection(writer)
            else:
                writer.close()

    async def start(self) -> None:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Streams(self._serve), self._host, self.port, ssl=self._tls
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close the port and every connection. It may be started again, on the same port."""
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._writers.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._writers[writer] = task
        self.connection_count += 1
        number = self.connection_count
        self._note()
        try:
            while await self._serve_one(reader, writer, number):
                self._busy.discard(writer)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._busy.discard(writer)
            del self._writers[writer]
            self._note()

    async def _serve_one(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        self._busy.add(writer)
        at = datetime.now(UTC)
        body = await reader.readexactly(body_length(head))
        request = Received.parse(head, body, at=at, connection=number)
        self.requests.append(request)
        self._by_path.setdefault(request.path, []).append(request)
        self._note()
        return await self._next_answer(request)(Exchange(request=request, writer=writer))

    def _come_to(self, path: str) -> list[Received]:
        return self._by_path.get(path, [])

    def _next_answer(self, request: Received) -> Answer:
        script = self._scripts.get(request.path)
        if not script:
            return respond(204)
        return script.pop(0) if len(script) > 1 else script[0]

    def _note(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _until(self, holds: Callable[[], bool], timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while not holds():
                await self._changed.wait()


class _Streams(asyncio.StreamReaderProtocol):
    """The usual streams, but a connection that ends, ends what is done on it: a hanging answer too."""

    def __init__(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        self._serving: asyncio.Task[None] | None = None

        async def tracked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._serving = asyncio.current_task()
            await serve(reader, writer)

        super().__init__(asyncio.StreamReader(limit=_MAX_HEAD_BYTES), tracked)

    def eof_received(self) -> bool:
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._serving is not None:
            self._serving.cancel()
