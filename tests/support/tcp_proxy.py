"""A TCP proxy that a test owns: it cuts, stalls or refuses the connections between two of the system's processes.

    with TcpProxy("127.0.0.1", 0, upstream=lambda: (LOOPBACK, stack.kafka.proxied_port)) as proxy:
        ... a client connects to proxy.address ...
        proxy.cut()

It runs in a thread with a loop of its own. It understands nothing of what it carries, and holds no more of it than one
read in each direction of a connection: a side that doesn't take its bytes stops the reading on the other.

An upstream that refuses looks, to the client, like a connection that is reset at once: TCP can't be un-accepted.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

__all__ = ["Address", "TcpProxy"]

Address = tuple[str, int]

_T = TypeVar("_T")
_STOP_S = 10.0
#: SO_LINGER with no time: closing sends a reset, and what was not sent is thrown away.
_RESET = struct.pack("ii", 1, 0)


class TcpProxy:
    """Listens on `port` (0: a free one, kept from then on), and passes what comes to `upstream` and back.

    `upstream` may be a function: it is asked at each new connection, so the server may come back on another port.
    """

    def __init__(self, host: str, port: int, *, upstream: Address | Callable[[], Address]) -> None:
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp proxy", daemon=True)
        self._host, self._port = host, port
        self._upstream: Callable[[], Address] = upstream if callable(upstream) else lambda: upstream
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.connections = 0
        """How many were ever accepted."""
        self.bytes_to_upstream = 0
        self.bytes_to_clients = 0

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> Address:
        """Host and port to connect to."""
        return self._host, self._port

    @property
    def netloc(self) -> str:
        """The same as text: `host:port`."""
        return f"{self._host}:{self._port}"

    @property
    def open_connections(self) -> int:
        return len(self._links)

    def cut(self) -> None:
        """Reset all open connections, on both sides. New ones are accepted at once."""
        self._call(self._reset_all())

    def stall(self) -> None:
        """Move no more bytes, and close nothing: a black hole. New connections are accepted, and wait."""
        self._call(self._set_flowing(flowing=False))

    def flow(self) -> None:
        """End the stall. What was held goes on, and so do the ends of connections."""
        self._call(self._set_flowing(flowing=True))

    def refuse(self) -> None:
        """Close the port and reset everything: who connects is refused."""
        self._call(self._refuse())

    def accept(self) -> None:
        """Listen again, on the same port."""
        self._call(self._listen())

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_S)
        self._loop.close()

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await self._loop.create_server(self._accepted, self._host, self._port)
            self._port = self._server.sockets[0].getsockname()[1]

    async def _refuse(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._reset_all()

    async def _reset_all(self) -> None:
        links = tuple(self._links)
        for link in links:
            link.reset()
        await asyncio.gather(*(link.ended.wait() for link in links))

    async def _set_flowing(self, *, flowing: bool) -> None:
        if flowing:
            self._flowing.set()
        else:
            self._flowing.clear()
        for link in self._links:
            link.arrange()

    def _accepted(self) -> asyncio.Protocol:
        self.connections += 1
        link = _Link(self._upstream, flowing=self._flowing, on_end=self._links.discard, on_bytes=self._count)
        self._links.add(link)
        return link.client

    def _count(self, size: int, *, upwards: bool) -> None:
        if upwards:
            self.bytes_to_upstream += size
        else:
            self.bytes_to_clients += size

    def _call(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_STOP_S)


class _Link:
    """A client's connection and the one to upstream that belongs to it. Ends when both have ended."""

    def __init__(
        self,
        upstream: Callable[[], Address],
        *,
        flowing: asyncio.Event,
        on_end: Callable[[_Link], None],
        on_bytes: Callable[..., None],
    ) -> None:
        self.client = _Side(self)
        self.upstream = _Side(self)
        self.client.peer, self.upstream.peer = self.upstream, self.client
        self.ended = asyncio.Event()
        self._flowing = flowing
        self._on_end = on_end
        self._on_bytes = on_bytes
        self._connecting = asyncio.get_running_loop().create_task(self._connect(upstream))
        self._connecting.add_done_callback(lambda _: self.check_end())

    def arrange(self) -> None:
        """Read where reading is wanted: while it flows, both are there, and the other side takes it."""
        both = self.client.transport is not None and self.upstream.transport is not None
        for side in (self.client, self.upstream):
            if side.transport is None:
                continue
            if both and self._flowing.is_set() and not side.peer.full:
                side.transport.resume_reading()
            else:
                side.transport.pause_reading()

    def reset(self) -> None:
        self._connecting.cancel()
        for side in (self.client, self.upstream):
            side.reset()

    def passed(self, side: _Side, size: int) -> None:
        self._on_bytes(size, upwards=side is self.client)

    def check_end(self) -> None:
        """Tell the proxy, once nothing of this is left."""
        upstream_gone = self.upstream.gone or self.upstream.transport is None
        if self.client.gone and upstream_gone and self._connecting.done():
            self._on_end(self)
            self.ended.set()

    async def _connect(self, upstream: Callable[[], Address]) -> None:
        loop = asyncio.get_running_loop()
        connection = socket.socket()
        connection.setblocking(False)  # noqa: FBT003 - the standard library's signature
        try:
            await self._flowing.wait()
            await loop.sock_connect(connection, upstream())
            await loop.create_connection(lambda: self.upstream, sock=connection)
        except OSError:
            connection.close()
            self.client.reset()
        except asyncio.CancelledError:
            # Upstream may have accepted it already, although nobody here has heard of that: a cut resets it as well.
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            connection.close()
            raise


class _Side(asyncio.Protocol):
    """One of a link's two connections."""

    peer: _Side

    def __init__(self, link: _Link) -> None:
        self._link = link
        self.transport: asyncio.Transport | None = None
        self.gone = False
        self.full = False
        """It holds what its other end has not taken yet."""
        self._ended = False
        self._reset_wanted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        self._link.arrange()
        if self.peer.gone or self._reset_wanted:
            self.reset()

    def data_received(self, data: bytes) -> None:
        assert self.peer.transport is not None
        self._link.passed(self, len(data))
        self.peer.transport.write(data)

    def eof_received(self) -> bool:
        """One direction has ended; the other may go on."""
        assert self.peer.transport is not None
        self.peer.transport.write_eof()
        self._ended = True
        return not self.peer._ended

    def pause_writing(self) -> None:
        self.full = True
        self._link.arrange()

    def resume_writing(self) -> None:
        self.full = False
        self._link.arrange()

    def reset(self) -> None:
        """Close it so that the other end sees a reset, once it is there."""
        self._reset_wanted = True
        if self.transport is None or self.gone:
            return
        connection = self.transport.get_extra_info("socket")
        with suppress(OSError):  # it may be closed by now
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        if exc is not None:
            self.peer.reset()
        elif self.peer.transport is not None:
            self.peer.transport.close()
        self._link.check_end()
