"""One piece of work over a connection, which somebody else can break off.

Place in the data's way: between a request, which has a deadline, and the thread that works for it, which has none: a
Postgres that is silent (a machine that was cut off, a firewall that forgot the connection) keeps a thread waiting for
as long as TCP does. Breaking off shuts the socket down, so that the thread sees a lost connection at once.
"""

import os
import socket
import threading
from contextlib import suppress
from typing import Any

import psycopg

__all__ = ["Work"]


class Work:
    """A thread's hold on a connection. Broken off, it gets no further: what was not committed is not done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._is_broken_off = False

    def take(self, connection: psycopg.Connection[Any]) -> None:
        """Work over this connection from now on.

        Raises:
            psycopg.OperationalError: it was broken off before.
        """
        with self._lock:
            if self._is_broken_off:
                raise psycopg.OperationalError("the work was broken off")
            self._connection = connection

    def leave(self) -> None:
        """Let go of the connection: it is somebody else's from now on."""
        with self._lock:
            self._connection = None

    def break_off(self) -> None:
        """End it, in whatever it is. May be called from any thread, and again."""
        with self._lock:
            self._is_broken_off = True
            if self._connection is not None:
                _shut_down(self._connection)


def _shut_down(connection: psycopg.Connection[Any]) -> None:
    # Of a duplicate, since psycopg owns the descriptor: shutting down is the connection's, closing only ours.
    with (
        suppress(psycopg.OperationalError, OSError),  # it is closed already
        socket.socket(fileno=os.dup(connection.fileno())) as duplicate,
    ):
        duplicate.shutdown(socket.SHUT_RDWR)
