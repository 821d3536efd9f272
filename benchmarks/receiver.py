"""The receiver: a raw HTTP server in a process of its own that answers 204 and notes when each webhook came.

It does as little as possible, so that it is never what is measured: it looks for two headers and writes a fixed
answer. The moment noted is that of the request's first byte.
"""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, assert_never, cast

import uvloop

from benchmarks.children import Child, answer_questions
from benchmarks.errors import BenchmarkError

__all__ = ["Receipt", "Receiver"]

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\ncontent-length: (\d+)\r")
_WEBHOOK_ID = re.compile(rb"\nwebhook-id: ([\w-]+)\r")
_LOOK_AGAIN_S = 0.02


class Receipt(NamedTuple):
    """One webhook that came: when (epoch seconds), which event, to which endpoint's port."""

    at_s: float
    event_id: str
    endpoint: int


@dataclass(frozen=True, slots=True)
class _Count:
    """How many have come?"""


@dataclass(frozen=True, slots=True)
class _Take:
    """Which have come? Forgets them."""


@dataclass(frozen=True, slots=True)
class _Hang:
    """Answer this endpoint's requests so late from now on."""

    endpoint: int
    delay_s: float


_Question = _Count | _Take | _Hang
_Noted = tuple[float, bytes, int]


class Receiver:
    """The receiver as its parent sees it. `ports[i]` is the port of endpoint i."""

    def __init__(self, *, endpoints: int) -> None:
        self._child = Child(_serve, endpoints)
        self.pid = self._child.pid
        self.ports: tuple[int, ...] = self._child.answer(timeout_s=30)

    def count(self) -> int:
        """How many webhooks have come since the last `take`."""
        return cast("int", self._child.ask(_Count()))

    def take(self) -> list[Receipt]:
        """All that came since the last `take`, in the order in which they came."""
        return cast("list[Receipt]", self._child.ask(_Take()))

    def hang(self, endpoint: int, *, delay_s: float) -> None:
        """Answer this endpoint's requests so late; 0 is at once, as in the beginning."""
        self._child.ask(_Hang(endpoint, delay_s))

    def wait_for(self, count: int, *, patience_s: float) -> int:
        """Wait until so many have come, or no further one has for `patience_s`. Returns how many have."""
        came, since_s = self.count(), time.monotonic()
        while came < count:
            time.sleep(_LOOK_AGAIN_S)
            now = self.count()
            if now > came:
                came, since_s = now, time.monotonic()
            elif time.monotonic() - since_s > patience_s:
                break
        return came

    def require(self, count: int, *, patience_s: float, what: str) -> None:
        """Wait for so many, and raise BenchmarkError if they don't come."""
        came = self.wait_for(count, patience_s=patience_s)
        if came < count:
            raise BenchmarkError(f"{what}: {came} of {count} webhooks came, then none for {patience_s:g} s")

    def stop(self) -> None:
        """End it."""
        self._child.stop()


def _serve(pipe: "Connection[Any, Any]", endpoints: int) -> None:
    uvloop.run(_receive(pipe, endpoints))


async def _receive(pipe: "Connection[Any, Any]", endpoints: int) -> None:
    loop = asyncio.get_running_loop()
    noted: list[_Noted] = []
    delays_s = [0.0] * endpoints

    def exchange_of(endpoint: int) -> Callable[[], asyncio.Protocol]:
        return lambda: _Exchanges(endpoint, noted, delays_s)

    def answer(question: _Question) -> int | list[Receipt] | None:
        match question:
            case _Count():
                return len(noted)
            case _Take():
                taken = [Receipt(at_s, event_id.decode(), endpoint) for at_s, event_id, endpoint in noted]
                noted.clear()
                return taken
            case _Hang(endpoint=endpoint, delay_s=delay_s):
                delays_s[endpoint] = delay_s
                return None
            case _:
                assert_never(question)

    servers = [await loop.create_server(exchange_of(number), "127.0.0.1", 0) for number in range(endpoints)]
    pipe.send(tuple(server.sockets[0].getsockname()[1] for server in servers))
    await answer_questions(pipe, answer)


class _Exchanges(asyncio.Protocol):
    """One connection's requests, one after the other."""

    def __init__(self, endpoint: int, noted: list[_Noted], delays_s: list[float]) -> None:
        self._endpoint = endpoint
        self._noted = noted
        self._delays_s = delays_s
        self._begun = b""
        self._first_byte_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._first_byte_s = time.time()
        data = self._begun + data
        head_end = data.find(_HEAD_END) + len(_HEAD_END)
        if head_end < len(_HEAD_END):
            self._begun = data
            return
        head = data[:head_end]
        length, webhook_id = _LENGTH.search(head), _WEBHOOK_ID.search(head)
        if length is None or webhook_id is None:
            self._transport.abort()
            return
        if len(data) < head_end + int(length[1]):
            self._begun = data
            return
        self._begun = b""  # the sender never sends a request before the last one's answer
        self._noted.append((self._first_byte_s, webhook_id[1], self._endpoint))
        delay_s = self._delays_s[self._endpoint]
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._answer)
        else:
            self._transport.write(_ANSWER)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_ANSWER)
