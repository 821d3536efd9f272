"""How a scripted receiver answers: well, badly, slowly, or not at all.

An answer is an async function of an `Exchange`: the request that came and the socket to write to. It returns
whether the connection stays open for another request.
"""

import asyncio
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from tests.support.received import Received

__all__ = [
    "Answer",
    "Exchange",
    "close_without_answer",
    "drip",
    "endless",
    "gzipped",
    "hang",
    "held",
    "raw",
    "redirect",
    "reset",
    "respond",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    request: Received
    writer: asyncio.StreamWriter


Answer = Callable[[Exchange], Awaitable[bool]]


def respond(
    status: int = 204,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    chunked: bool = False,
    close: bool = False,
) -> Answer:
    """A correct response. `chunked` sends the body in pieces of 7 bytes, `close` says so and does it."""
    fields = dict(headers or {})
    if chunked:
        fields["transfer-encoding"] = "chunked"
        pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
        payload = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    else:
        payload = body
        if status != HTTPStatus.NO_CONTENT:
            fields["content-length"] = str(len(body))
    if close:
        fields["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return raw(f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + payload, close=close)


def raw(data: bytes, *, close: bool = False) -> Answer:
    """These very bytes, correct or not; then an orderly close, or none."""

    async def answer(exchange: Exchange) -> bool:
        exchange.writer.write(data)
        await exchange.writer.drain()
        return not close

    return answer


def redirect(location: str, status: int = 301) -> Answer:
    return respond(status, headers={"location": location})


def gzipped(body: bytes, status: int = 200) -> Answer:
    return respond(status, gzip.compress(body), headers={"content-encoding": "gzip"})


def hang(after: bytes = b"") -> Answer:
    """Send `after`, such as half of a response, and then nothing until the other side goes away."""

    async def answer(exchange: Exchange) -> bool:
        exchange.writer.write(after)
        await exchange.writer.drain()
        await asyncio.get_running_loop().create_future()
        return False

    return answer


def held(until: asyncio.Event, then: Answer) -> Answer:
    """Answer once the test says so."""

    async def answer(exchange: Exchange) -> bool:
        await until.wait()
        return await then(exchange)

    return answer


def drip(data: bytes, *, every_s: float = 0.01) -> Answer:
    """One byte at a time, and then nothing."""

    async def answer(exchange: Exchange) -> bool:
        for index in range(len(data)):
            exchange.writer.write(data[index : index + 1])
            await exchange.writer.drain()
            await asyncio.sleep(every_s)  # what is tested is slowness itself
        return await hang()(exchange)

    return answer


def endless(start: bytes, repeated: bytes) -> Answer:
    """`start`, then the same bytes for as long as anybody reads them."""

    async def answer(exchange: Exchange) -> bool:
        exchange.writer.write(start)
        while True:
            exchange.writer.write(repeated)
            await exchange.writer.drain()

    return answer


def close_without_answer() -> Answer:
    return raw(b"", close=True)


def reset(after: bytes = b"") -> Answer:
    """Send `after`, then RST instead of FIN."""

    async def answer(exchange: Exchange) -> bool:
        exchange.writer.write(after)
        await exchange.writer.drain()
        reset_connection(exchange.writer)
        return False

    return answer


def reset_connection(writer: asyncio.StreamWriter) -> None:
    """Close a socket so that its peer sees a reset."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
