"""A connection over a real socket: any bytes end in an answer, and in a closed or a clean connection."""

import asyncio
import socket
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.connection import Connection
from connectors.webhook.limits import Limits
from connectors.webhook.reply import Failure, Reply
from connectors.webhook.response import ResponseReader
from tests.fuzz.mutation import mutated
from tests.fuzz.profile import FUZZ_SLOW
from tests.fuzz.seeds import RESPONSES

LIMITS = Limits(response_head_bytes=2_000, response_bytes=8_000, excerpt_bytes=40)
_LONG_S = 30.0


async def exchanged(pieces: list[bytes]) -> tuple[Reply | Failure, list[dict[str, Any]]]:
    """What a connection makes of these bytes and the end after them; and what the loop had to say."""
    loop, complaints = asyncio.get_running_loop(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)  # noqa: FBT003 - the socket's own interface
        _, connection = await loop.create_connection(
            lambda: Connection(dialled="the other end", limits=LIMITS), sock=ours
        )
        until = loop.time() + _LONG_S
        exchange = loop.create_task(connection.exchange(b"POST", first_byte_at=until, total_at=until))
        await loop.sock_recv(theirs, 4)
        try:
            for piece in pieces:
                await loop.sock_sendall(theirs, piece)
        except OSError:
            assert exchange.done()  # nothing but an answer closes our side
        theirs.close()
        outcome = await exchange
        assert not connection.is_clean or isinstance(outcome, Reply)
        connection.close()
        await connection.wait_closed()
    return outcome, complaints


@FUZZ_SLOW
@given(st.lists(mutated(RESPONSES) | st.binary(max_size=100), max_size=3))
def test_any_bytes_on_a_socket_are_an_answer_and_no_exception(pieces: list[bytes]) -> None:
    """What a receiver sends never raises in the loop, never hangs, and never becomes another status."""
    outcome, complaints = asyncio.run(exchanged(pieces))
    assert complaints == []
    reader = ResponseReader(LIMITS)
    for piece in filter(None, pieces):
        if reader.outcome is None:
            reader.feed(piece)
    reader.end_of_stream(is_orderly=True)
    expected = reader.outcome
    assert type(outcome) is type(expected)
    if isinstance(outcome, Reply) and isinstance(expected, Reply):
        # Where a piece ends on the socket is the system's choice, so that the excerpt may be cut at another byte.
        assert (outcome.status, outcome.location) == (expected.status, expected.location)
