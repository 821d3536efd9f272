"""A receiver that misbehaves: every attempt ends, with the right reason, within bounds."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from connectors.webhook.answer import NoAnswer, NoAnswerReason, Responded, Stage
from connectors.webhook.limits import Limits
from connectors.webhook.names import IPAddress
from connectors.webhook.sender import Sender
from tests.integration.webhook.sending import HASTY, hook
from tests.support.answers import (
    Answer,
    Exchange,
    close_without_answer,
    drip,
    endless,
    gzipped,
    hang,
    raw,
    reset,
    respond,
)
from tests.support.receiver import Receiver

Reason = NoAnswerReason

NO_ANSWERS: dict[str, tuple[Answer, Reason, Stage]] = {
    "hangs": (hang(), Reason.FIRST_BYTE_TIMEOUT, Stage.SENT),
    "hangs in the status line": (hang(b"HTTP/1.1 2"), Reason.TOTAL_TIMEOUT, Stage.ANSWER),
    "hangs in the headers": (hang(b"HTTP/1.1 200 OK\r\ncontent-le"), Reason.TOTAL_TIMEOUT, Stage.ANSWER),
    "hangs after 100": (hang(b"HTTP/1.1 100 Continue\r\n\r\n"), Reason.TOTAL_TIMEOUT, Stage.ANSWER),
    "drips headers": (drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 99), Reason.TOTAL_TIMEOUT, Stage.ANSWER),
    "closes": (close_without_answer(), Reason.CONNECTION_LOST, Stage.SENT),
    "resets": (reset(), Reason.CONNECTION_LOST, Stage.SENT),
    "closes in the headers": (raw(b"HTTP/1.1 200 OK\r\nx", close=True), Reason.CONNECTION_LOST, Stage.ANSWER),
    "endless headers": (
        endless(b"HTTP/1.1 200 OK\r\n", b"name: value\r\n" * 99),
        Reason.RESPONSE_HEAD_TOO_LARGE,
        Stage.ANSWER,
    ),
    "an endless header": (
        endless(b"HTTP/1.1 200 OK\r\nname: ", b"x" * 999),
        Reason.RESPONSE_HEAD_TOO_LARGE,
        Stage.ANSWER,
    ),
    "endless interim responses": (
        endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 99),
        Reason.RESPONSE_HEAD_TOO_LARGE,
        Stage.ANSWER,
    ),
    "speaks something else": (raw(b"220 mail.example ESMTP\r\n"), Reason.RESPONSE_MALFORMED, Stage.ANSWER),
    "two lengths": (
        raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nok"),
        Reason.RESPONSE_MALFORMED,
        Stage.ANSWER,
    ),
}

# The head has come, and it decides: what becomes of the body is no reason to deliver once more.
RESPONSES: dict[str, tuple[Answer, bytes]] = {
    "less than announced": (raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf", close=True), b"half"),
    "hangs in the body": (hang(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nhalf"), b"half"),
    "drips the body": (drip(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 999, every_s=0.003), b"xxxx"),
    "a broken chunk": (raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz"), b"half"),
    "an endless body": (endless(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 9_999), b"x" * 1024),
    "endless chunks": (
        endless(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 999),
        b"x" * 1024,
    ),
    "endless trailers": (
        endless(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", b"a: b\r\n" * 999),
        b"x",
    ),
    "compressed bomb": (gzipped(bytes(100_000_000)), bytes(1024)),
    "compressed nonsense": (respond(200, b"nonsense", headers={"content-encoding": "gzip"}), b""),
}


@pytest.mark.parametrize("fault", NO_ANSWERS)
async def test_without_the_head_of_a_response_there_is_no_answer(receiver: Receiver, fault: str) -> None:
    """The reason is the receiver's fault by name; one attempt is one request; the connection is gone."""
    answer, reason, stage = NO_ANSWERS[fault]
    receiver.script("/", answer)
    async with Sender(limits=HASTY) as sender:
        told = await sender.send(hook(receiver.url("/")))

        assert isinstance(told, NoAnswer)
        assert (told.reason, told.stage) == (reason, stage)
        assert told.detail.startswith(f"127.0.0.1:{receiver.port}: ")
        await receiver.wait_for_connections(0)
        assert sender.open_connections == 0
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("fault", RESPONSES)
async def test_with_the_head_of_a_response_its_status_counts(receiver: Receiver, fault: str) -> None:
    """The excerpt is what came, bounded and decoded, and known not to be the whole (CASES 18, 19)."""
    answer, excerpt = RESPONSES[fault]
    receiver.script("/", answer)
    async with Sender(limits=HASTY) as sender:
        told = await sender.send(hook(receiver.url("/")))

        assert isinstance(told, Responded)
        assert told.status == 200
        assert told.excerpt.startswith(excerpt)
        assert len(told.excerpt) <= 1024
        assert not told.is_excerpt_whole
        if not fault.startswith("compressed"):
            await receiver.wait_for_connections(0)
            assert sender.open_connections == 0


async def test_what_comes_after_an_answer_is_not_the_next_one(receiver: Receiver) -> None:
    """A second response to one request is dropped with its connection."""
    receiver.script(
        "/twice", raw(b"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 500 Injected\r\ncontent-length: 0\r\n\r\n")
    )
    async with Sender() as sender:
        first = await sender.send(hook(receiver.url("/twice")))
        second = await sender.send(hook(receiver.url("/")))

    assert isinstance(first, Responded)
    assert isinstance(second, Responded)
    assert (first.status, second.status) == (204, 204)
    assert [request.connection for request in receiver.requests] == [1, 2]


async def test_an_answer_before_the_request_was_read_counts_and_ends_the_connection() -> None:
    """A 413 after the headers: the rest of the upload must not become the start of the next request."""
    accepted: list[asyncio.StreamWriter] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server, Sender() as sender:
        answers = [await sender.send(hook(url, b"x" * 20_000_000)) for _ in range(2)]
        for writer in accepted:
            writer.transport.abort()

    assert [answer.status for answer in answers if isinstance(answer, Responded)] == [413, 413]
    assert len(accepted) == 2


async def test_what_comes_while_nothing_was_asked_ends_the_connection(receiver: Receiver) -> None:
    """Such as the 408 of a receiver that is about to close: it must not become the next answer."""
    idle = asyncio.Event()

    async def answer_twice(exchange: Exchange) -> bool:
        await respond(204)(exchange)
        await idle.wait()
        return await respond(408)(exchange)

    receiver.script("/", answer_twice, respond(204))
    async with Sender() as sender:
        first = await sender.send(hook(receiver.url("/")))
        idle.set()
        await receiver.wait_for_connections(0)
        second = await sender.send(hook(receiver.url("/")))

    assert [answer.status for answer in (first, second) if isinstance(answer, Responded)] == [204, 204]
    assert receiver.connection_count == 2


async def test_after_the_first_byte_the_total_timeout_counts(receiver: Receiver) -> None:
    """An answer that began in time may take longer than the first byte may."""
    receiver.script("/", drip(b"HTTP/1.1 204 No\r\n\r\n", every_s=0.02))
    limits = Limits(first_byte=timedelta(seconds=0.2), total=timedelta(seconds=10))
    async with Sender(limits=limits) as sender:
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, Responded)
    assert answer.status == 204


async def test_nobody_listening_is_a_failed_connect() -> None:
    """Refused: the port of a receiver that has stopped."""
    async with Receiver() as stopped:
        url = stopped.url("/")
    async with Sender() as sender:
        answer = await sender.send(hook(url))

    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.stage) == (Reason.CONNECT_FAILED, Stage.CONNECT)
    assert "refused" in answer.detail.lower()


async def test_a_name_without_an_address_is_asked_for_once_in_a_while() -> None:
    """The failure is remembered for as long as an address would be, then asked for again."""
    asked: list[str] = []
    clock_s = 0.0

    async def resolve(host: str) -> tuple[IPAddress, ...]:
        asked.append(host)
        raise OSError(-2, "Name or service not known")

    async with Sender(resolve=resolve, monotonic=lambda: clock_s) as sender:
        answers = [await sender.send(hook("https://receiver.invalid/")) for _ in range(3)]
        clock_s += 60
        answers.append(await sender.send(hook("https://receiver.invalid/")))

    reasons = {answer.reason for answer in answers if isinstance(answer, NoAnswer)}
    assert reasons == {Reason.NAME_UNRESOLVED}
    assert all("Name or service not known" in a.detail for a in answers if isinstance(a, NoAnswer))
    assert asked == ["receiver.invalid"] * 2


async def test_a_look_up_that_hangs_is_a_connect_timeout_for_all_that_wait_for_it() -> None:
    """One look-up for the name, however many attempts; each ends at its own deadline."""
    asked: list[str] = []

    async def resolve(host: str) -> tuple[IPAddress, ...]:
        asked.append(host)
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async with Sender(limits=HASTY, resolve=resolve) as sender:
        answers = await asyncio.gather(*(sender.send(hook("https://receiver.invalid/")) for _ in range(5)))

    told = {(answer.reason, answer.stage) for answer in answers if isinstance(answer, NoAnswer)}
    assert told == {(Reason.CONNECT_TIMEOUT, Stage.RESOLVE)}
    assert len(asked) == 1


async def test_a_tls_handshake_that_hangs_is_a_connect_timeout(receiver: Receiver) -> None:
    """A TCP connection alone is no connection: the receiver here waits for a line that never comes."""
    async with Sender(limits=HASTY) as sender:
        answer = await sender.send(hook(f"https://127.0.0.1:{receiver.port}/"))

        assert isinstance(answer, NoAnswer)
        assert (answer.reason, answer.stage) == (Reason.CONNECT_TIMEOUT, Stage.CONNECT)
        await receiver.wait_for_connections(0)


async def test_the_total_timeout_bounds_a_connect_too(receiver: Receiver) -> None:
    """Whichever deadline comes first is the one named."""
    limits = Limits(connect=timedelta(seconds=9), total=timedelta(seconds=0.2))
    async with Sender(limits=limits) as sender:
        answer = await sender.send(hook(f"https://127.0.0.1:{receiver.port}/"))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is Reason.TOTAL_TIMEOUT


async def test_a_receiver_that_speaks_no_tls() -> None:
    """Plain HTTP on the other side is a TLS failure, not a malformed response."""

    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Sender(limits=HASTY) as sender:
        answer = await sender.send(hook(f"https://127.0.0.1:{port}/"))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is Reason.TLS_FAILED


async def test_an_endpoints_own_timeout_ends_an_attempt_sooner(receiver: Receiver) -> None:
    """It is for the whole attempt, and never longer than the sender's own."""
    receiver.script("/in", hang())
    patient = Limits(first_byte=timedelta(seconds=30), total=timedelta(seconds=60))
    request = hook(receiver.url("/in"))
    hasty = replace(request, endpoint=replace(request.endpoint, timeout=timedelta(seconds=0.2)))
    async with Sender(limits=patient) as sender:
        answer = await sender.send(hasty)
    assert isinstance(answer, NoAnswer)
    assert answer.reason is Reason.TOTAL_TIMEOUT
    async with Sender(limits=HASTY) as sender:
        slow = replace(request, endpoint=replace(request.endpoint, timeout=timedelta(seconds=60)))
        assert isinstance(await sender.send(slow), NoAnswer)
