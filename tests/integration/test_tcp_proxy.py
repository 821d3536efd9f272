"""The proxy that tests own does what its verbs say, on real sockets."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.eventually import eventually
from tests.support.tcp_proxy import TcpProxy

LOOPBACK = "127.0.0.1"
PATIENCE_S = 5.0
#: How long nothing has to come for it to count as "nothing comes".
SILENCE_S = 0.3


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, 0)) as listening:
        listening.settimeout(PATIENCE_S)
        yield listening


@pytest.fixture
def proxy(server: socket.socket) -> Iterator[TcpProxy]:
    with TcpProxy(LOOPBACK, 0, upstream=server.getsockname()) as started:
        yield started


def connect(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(proxy.address, timeout=PATIENCE_S)


def pair(proxy: TcpProxy, server: socket.socket) -> tuple[socket.socket, socket.socket]:
    """A connection through the proxy: the client's end and the server's."""
    client = connect(proxy)
    accepted, _ = server.accept()
    accepted.settimeout(PATIENCE_S)
    return client, accepted


def test_bytes_and_ends_pass_both_ways(proxy: TcpProxy, server: socket.socket) -> None:
    """What one side sends the other gets, and an end of one direction leaves the other open."""
    client, accepted = pair(proxy, server)
    with client, accepted:
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        with accepted.makefile("rb") as sent:
            assert sent.read() == b"question"
        accepted.sendall(b"answer")
        accepted.close()
        with client.makefile("rb") as got:
            assert got.read() == b"answer"
    assert (proxy.connections, proxy.bytes_to_upstream, proxy.bytes_to_clients) == (1, 8, 6)


def test_a_cut_resets_both_sides_and_the_next_connection_works(
    proxy: TcpProxy, server: socket.socket
) -> None:
    """Each side sees a reset, not an end; who connects again is served."""
    client, accepted = pair(proxy, server)
    with client, accepted:
        proxy.cut()
        assert proxy.open_connections == 0
        for side in (client, accepted):
            with pytest.raises(ConnectionResetError):
                side.recv(1)
    client, accepted = pair(proxy, server)
    with client, accepted:
        client.sendall(b"again")
        assert accepted.recv(5) == b"again"


def test_a_stall_holds_everything_and_loses_nothing(proxy: TcpProxy, server: socket.socket) -> None:
    """While it is stalled nothing passes, ends of connections included; afterwards all of it does."""
    client, accepted = pair(proxy, server)
    with client, accepted:
        proxy.stall()
        client.sendall(b"held")
        client.shutdown(socket.SHUT_WR)
        accepted.settimeout(SILENCE_S)
        with pytest.raises(TimeoutError):
            accepted.recv(1)
        proxy.flow()
        accepted.settimeout(PATIENCE_S)
        with accepted.makefile("rb") as sent:
            assert sent.read() == b"held"


def test_a_connection_made_in_a_stall_waits(proxy: TcpProxy, server: socket.socket) -> None:
    """The kernel accepts it, and upstream hears of it only when the stall ends."""
    proxy.stall()
    with connect(proxy) as client:
        client.sendall(b"first")
        server.settimeout(SILENCE_S)
        with pytest.raises(TimeoutError):
            server.accept()
        proxy.flow()
        server.settimeout(PATIENCE_S)
        with closing(server.accept()[0]) as accepted:
            assert accepted.recv(5) == b"first"


def test_a_cut_ends_what_waits_in_a_stall(proxy: TcpProxy) -> None:
    """Nothing survives a cut because it had no upstream yet."""
    proxy.stall()
    with connect(proxy) as client:
        # The kernel accepts before the proxy does.
        eventually(lambda: proxy.open_connections == 1, what="the proxy to accept")
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_refusing_proxy_refuses_until_it_accepts(proxy: TcpProxy, server: socket.socket) -> None:
    """Refused is refused at the connect, on the port that is then served again."""
    client, accepted = pair(proxy, server)
    with client, accepted:
        proxy.refuse()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.accept()
    client, accepted = pair(proxy, server)
    with client, accepted:
        client.sendall(b"back")
        assert accepted.recv(4) == b"back"


def test_an_upstream_that_is_not_there_looks_like_a_reset() -> None:
    """The client isn't left hanging."""
    with socket.create_server((LOOPBACK, 0)) as gone:
        nowhere = gone.getsockname()
    # The reset may be there before the client knows that it is connected.
    with (
        TcpProxy(LOOPBACK, 0, upstream=lambda: nowhere) as proxy,
        pytest.raises(ConnectionResetError),
        connect(proxy) as client,
    ):
        client.recv(1)


def test_it_holds_little_of_what_nobody_takes(proxy: TcpProxy, server: socket.socket) -> None:
    """A sender is stopped when the receiver doesn't read: the proxy is no buffer without end."""
    client, accepted = pair(proxy, server)
    with client, accepted:
        client.settimeout(SILENCE_S)
        with pytest.raises(TimeoutError):
            client.sendall(bytes(100 << 20))
        client.close()
        received = 0
        while chunk := accepted.recv(1 << 20):
            received += len(chunk)
        assert 0 < received < 50 << 20
        assert proxy.bytes_to_upstream == received
