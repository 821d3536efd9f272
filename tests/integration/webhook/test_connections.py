"""The life of connections: stale ones, cancelled ones, too many, too old, and the end of all."""

import asyncio
from datetime import timedelta

import pytest

from connectors.webhook.answer import NoAnswer, NoAnswerReason, Responded
from connectors.webhook.limits import Limits
from connectors.webhook.sender import Sender
from tests.integration.webhook.sending import HASTY, hook
from tests.support.answers import Answer, close_without_answer, hang, held, raw, reset, respond
from tests.support.receiver import Receiver

STALE: dict[str, Answer] = {"closed": close_without_answer(), "reset": reset()}


@pytest.mark.parametrize("how", STALE)
async def test_cases_23_a_stale_connection_is_no_failed_attempt(receiver: Receiver, how: str) -> None:
    """Lost before a byte came back, on a connection used before: the same bytes once more, on a fresh one."""
    receiver.script("/", respond(204), STALE[how], respond(204))
    async with Sender() as sender:
        await sender.send(hook(receiver.url("/")))
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, Responded)
    assert answer.status == 204
    assert [request.connection for request in receiver.requests] == [1, 1, 2]
    stale, fresh = receiver.requests[1:]
    assert (stale.raw_head, stale.body) == (fresh.raw_head, fresh.body)


@pytest.mark.parametrize("with_reset", [False, True])
async def test_cases_23_a_receiver_that_closed_while_idle(receiver: Receiver, *, with_reset: bool) -> None:
    """Whether or not we noticed the close before writing, the attempt succeeds."""
    async with Sender() as sender:
        await sender.send(hook(receiver.url("/")))
        receiver.close_idle(with_reset=with_reset)
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, Responded)
    assert receiver.connection_count == 2


async def test_a_connection_that_the_receiver_closed_is_forgotten(receiver: Receiver) -> None:
    """As soon as we notice, and without another request."""
    async with Sender() as sender:
        await sender.send(hook(receiver.url("/")))
        assert sender._pool.idle_count == 1
        receiver.close_idle()
        async with asyncio.timeout(10):
            while sender.open_connections:  # noqa: ASYNC110 - a close has no event to wait for
                await asyncio.sleep(0)

        assert sender._pool.idle_count == 0


async def test_cases_23_a_loss_on_a_fresh_connection_is_a_failed_attempt(receiver: Receiver) -> None:
    """Once is enough: the repeated request isn't repeated."""
    receiver.script("/", respond(204), close_without_answer())
    async with Sender() as sender:
        await sender.send(hook(receiver.url("/")))
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is NoAnswerReason.CONNECTION_LOST
    assert len(receiver.requests) == 3


async def test_cases_23_a_loss_after_the_first_byte_is_a_failed_attempt(receiver: Receiver) -> None:
    """The receiver had begun to answer: it was not a stale connection."""
    receiver.script("/", respond(204), raw(b"H", close=True), respond(204))
    async with Sender() as sender:
        await sender.send(hook(receiver.url("/")))
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is NoAnswerReason.CONNECTION_LOST
    assert len(receiver.requests) == 2


async def test_a_timeout_on_a_used_connection_is_a_failed_attempt(receiver: Receiver) -> None:
    """Silence is not staleness: sending again would double the load of a receiver that is slow."""
    receiver.script("/", respond(204), hang())
    async with Sender(limits=HASTY) as sender:
        await sender.send(hook(receiver.url("/")))
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is NoAnswerReason.FIRST_BYTE_TIMEOUT
    assert len(receiver.requests) == 2


@pytest.mark.parametrize("after", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\nhalf"])
async def test_cancelling_closes_the_connection(receiver: Receiver, after: bytes) -> None:
    """At any point of the answer, and the next request is not confused by it."""
    receiver.script("/", hang(after))
    async with Sender() as sender:
        sending = asyncio.create_task(sender.send(hook(receiver.url("/"))))
        await receiver.wait_for(1)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await receiver.wait_for_connections(0)
        answer = await sender.send(hook(receiver.url("/other")))

        assert isinstance(answer, Responded)
        assert sender.open_connections == 1


async def test_cancelling_a_handshake_closes_the_connection(receiver: Receiver) -> None:
    """A TLS handshake that nobody answers, cut off."""
    async with Sender() as sender:
        sending = asyncio.create_task(sender.send(hook(f"https://127.0.0.1:{receiver.port}/")))
        await receiver.wait_for_connections(1)
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await receiver.wait_for_connections(0)

        assert sender.open_connections == 0


async def test_idle_connections_of_an_origin_are_bounded(receiver: Receiver) -> None:
    """Of many that were needed at once, a few are kept."""
    go = asyncio.Event()
    receiver.script("/", held(go, respond(204)))
    async with Sender(limits=Limits(idle_connections_per_origin=2)) as sender:
        sending = asyncio.gather(*(sender.send(hook(receiver.url("/"))) for _ in range(6)))
        await receiver.wait_for(6)
        go.set()
        await sending
        await receiver.wait_for_connections(2)

        assert sender.open_connections == 2


async def test_idle_connections_are_bounded_in_all() -> None:
    """The one that has waited longest goes, whosever it is."""
    sender = Sender(limits=Limits(idle_connections=2))
    async with Receiver() as one, Receiver() as two, Receiver() as three, sender:
        for receiver in (one, two, three):
            await sender.send(hook(receiver.url("/")))
        await one.wait_for_connections(0)

        assert (two.open_connections, three.open_connections) == (1, 1)
        assert sender.open_connections == 2


async def test_an_idle_connection_is_closed_in_time(receiver: Receiver) -> None:
    """By us, without another request having to come."""
    async with Sender(limits=Limits(idle=timedelta(seconds=0.05))) as sender:
        await sender.send(hook(receiver.url("/")))
        await receiver.wait_for_connections(1)
        await receiver.wait_for_connections(0)

        assert sender.open_connections == 0


async def test_closing_ends_what_is_under_way(receiver: Receiver) -> None:
    """In flight, idle, being looked up: nothing stays open, and the answers say that it was us."""
    receiver.script("/hang", hang())

    async def resolve(_host: str) -> tuple[()]:
        await asyncio.get_running_loop().create_future()
        return ()

    sender = Sender(resolve=resolve)
    await sender.send(hook(receiver.url("/")))
    sending = [
        asyncio.create_task(sender.send(hook(url)))
        for url in (receiver.url("/hang"), receiver.url("/hang"), "https://receiver.invalid/")
    ]
    await receiver.wait_for(2, path="/hang")
    await sender.close()
    await sender.close()
    answers = await asyncio.gather(*sending, sender.send(hook(receiver.url("/"))))

    assert [a.reason for a in answers if isinstance(a, NoAnswer)] == [NoAnswerReason.SENDER_CLOSED] * 4
    assert sender.open_connections == 0
    await receiver.wait_for_connections(0)
    assert asyncio.all_tasks() - {asyncio.current_task()} == set()


async def test_a_sender_may_be_closed_before_it_was_used() -> None:
    """Stopping is allowed at any time."""
    await Sender().close()
