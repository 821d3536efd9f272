"""The demo's receivers: one small HTTP/1.1 server with keep-alive, a path for each subscriber.

It plays each subscriber's part (`story`), checks every signature, and notes every request. On loopback, on a free port.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from demo.evidence import Evidence, Receipt
from demo.signature import is_signed
from demo.story import SUBSCRIBERS, Subscriber

__all__ = ["Receiver", "receiving"]

_REASONS = {204: "No Content", 400: "Bad Request", 404: "Not Found", 503: "Service Unavailable"}


class Receiver:
    """Notes what comes, and answers as the story says.

    Args:
        evidence: where requests are noted.
        secrets: each subscriber's signing secret, by its name.
    """

    def __init__(self, evidence: Evidence, *, secrets: Mapping[str, str]) -> None:
        self.port = 0
        self._evidence = evidence
        self._secrets = secrets
        self._subscribers = {f"/{subscriber.name}": subscriber for subscriber in SUBSCRIBERS}
        self._asked: Counter[tuple[str, str]] = Counter()

    def url(self, subscriber: Subscriber) -> str:
        """Where this subscriber wants its webhooks."""
        return f"http://127.0.0.1:{self.port}/{subscriber.name}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until the other side closes it."""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await self._serve_one(reader, writer)
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        at_ns = time.monotonic_ns()
        path, headers = _parse(head)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        writer.write(_response(self._take(path, headers, body, at_ns=at_ns)))
        await writer.drain()

    def _take(self, path: str, headers: Mapping[str, str], body: bytes, *, at_ns: int) -> int:
        subscriber = self._subscribers.get(path)
        if subscriber is None:
            return 404
        event_id = headers.get("webhook-id", "")
        self._asked[path, event_id] += 1
        status = subscriber.answer(self._asked[path, event_id])
        receipt = Receipt(
            target=f"endpoint:{subscriber.endpoint_id}",
            event_id=event_id,
            body=body,
            status=status,
            signed=is_signed(headers, body, secret=self._secrets[subscriber.name], now_s=time.time()),
            at_ns=at_ns,
        )
        self._evidence.receipts.append(receipt)
        return status


@asynccontextmanager
async def receiving(receiver: Receiver) -> AsyncIterator[None]:
    """Listen while the block runs; every connection is closed after it."""
    connections: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(receiver.serve(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def _parse(head: bytes) -> tuple[str, dict[str, str]]:
    request_line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return request_line.split(" ")[1], {name.lower(): value.strip() for name, _, value in pairs}


def _response(status: int) -> bytes:
    length = "" if status == 204 else "Content-Length: 0\r\n"  # noqa: PLR2004 - a 204 has no length
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\n{length}\r\n".encode()
