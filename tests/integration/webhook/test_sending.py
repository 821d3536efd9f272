"""A request that arrives: what the receiver sees, over which connections, and to which address."""

import asyncio
from ipaddress import IPv4Address

import pytest
from standardwebhooks import Webhook

from connectors.webhook.answer import NoAnswer, NoAnswerReason, Responded, Stage
from connectors.webhook.dial import Dialled
from connectors.webhook.limits import Limits
from connectors.webhook.names import IPAddress
from connectors.webhook.secret import Secret
from connectors.webhook.sender import Sender
from tests.integration.webhook.sending import MESSAGE_ID, hook, resolver
from tests.support.answers import redirect, respond
from tests.support.receiver import Receiver

LOOPBACK = IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"b":1,"a":2,"a":3,"big":12345678901234567890.10,"text":"\\u00fc\xc3\xbc \\/"}',
        b'{"spaces" :  [ 1 ,2 ]}\r\n\r\n',
        b'{"x":"' + "ü🙂".encode() * 100_000 + b'"}',
    ],
    ids=["empty", "json", "spaces", "large"],
)
async def test_inv_5_a_receiver_can_verify_what_it_got(receiver: Receiver, body: bytes) -> None:
    """The specification's own verifier accepts the received bytes, which are the sent ones (CASES 10, 11)."""
    new, old = Secret.generate(), Secret.generate()
    async with Sender() as sender:
        answer = await sender.send(hook(receiver.url("/in?a=1"), body, secrets=(new, old)))

    assert isinstance(answer, Responded)
    assert answer.status == 204
    (received,) = receiver.requests
    assert (received.method, received.target, received.body) == ("POST", "/in?a=1", body)
    assert received.headers["webhook-id"] == received.headers["idempotency-key"] == MESSAGE_ID
    for secret in (new, old):
        Webhook(secret.reveal()).verify(received.body, dict(received.headers), json_parse=False)


async def test_a_response_comes_back_with_what_the_verdict_needs(receiver: Receiver) -> None:
    """Status, Retry-After, and the first KB of the body, through chunks."""
    receiver.script("/", respond(503, b"busy " * 1_000, headers={"Retry-After": "7"}, chunked=True))
    async with Sender() as sender:
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, Responded)
    assert (answer.status, answer.retry_after) == (503, "7")
    assert answer.excerpt == (b"busy " * 1_000)[:1024]
    assert not answer.is_excerpt_whole
    assert answer.dialled == f"127.0.0.1:{receiver.port}"
    assert answer.duration.total_seconds() > 0


async def test_cases_21_a_redirect_is_not_followed(receiver: Receiver) -> None:
    """Nothing is sent to where it points, and the Location is handed on."""
    receiver.script("/old", redirect(receiver.url("/new"), 307))
    async with Sender() as sender:
        answer = await sender.send(hook(receiver.url("/old")))

    assert isinstance(answer, Responded)
    assert (answer.status, answer.location) == (307, receiver.url("/new"))
    assert [request.target for request in receiver.requests] == ["/old"]


async def test_a_connection_is_used_again(receiver: Receiver) -> None:
    """One after another they share one connection, whatever the path and the length of the answer."""
    receiver.script("/b", respond(200, b"x" * 30_000), respond(500, b"no", chunked=True))
    async with Sender() as sender:
        for path in ("/a", "/b", "/b", "/a?c"):
            await sender.send(hook(receiver.url(path)))

    assert [request.connection for request in receiver.requests] == [1, 1, 1, 1]


async def test_a_connection_that_the_receiver_gave_up_is_not_used_again(receiver: Receiver) -> None:
    """`connection: close` is obeyed."""
    receiver.script("/", respond(200, b"ok", close=True))
    async with Sender() as sender:
        for _ in range(2):
            await sender.send(hook(receiver.url("/")))

    assert [request.connection for request in receiver.requests] == [1, 2]


async def test_many_at_once_get_their_own_answers(receiver: Receiver) -> None:
    """200 concurrent requests, each answered with its own status, over no more connections than requests."""
    for number in range(200):
        receiver.script(f"/{number}", respond(200 + number, str(number).encode()))
    async with Sender() as sender:
        for _ in range(2):
            answers = await asyncio.gather(*(sender.send(hook(receiver.url(f"/{n}"))) for n in range(200)))
            told = [(a.status, a.excerpt) for a in answers if isinstance(a, Responded)]
            assert told == [(200 + n, b"" if n in {4, 104} else str(n).encode()) for n in range(200)]

    assert receiver.connection_count <= 200 + (200 - Limits().idle_connections_per_origin)


async def test_a_proxy_in_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's environment must not decide where customers' events go."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with Sender() as sender:
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, Responded)


async def test_the_host_header_is_the_urls(receiver: Receiver) -> None:
    """The address is dialled, the name is said."""
    async with Sender(resolve=resolver(LOOPBACK)) as sender:
        answer = await sender.send(hook(f"http://Receiver.Example:{receiver.port}/"))

    assert isinstance(answer, Responded)
    assert receiver.requests[0].headers["host"] == f"receiver.example:{receiver.port}"


async def test_addresses_are_tried_in_order_until_one_takes_the_connection(receiver: Receiver) -> None:
    """A dead first address is no failed attempt."""
    judged: list[str] = []

    def note(dialled: Dialled) -> None:
        judged.append(str(dialled.address))

    async with Sender(
        resolve=resolver(IPv4Address("127.0.0.2"), LOOPBACK, IPv4Address("127.0.0.3")), judge_address=note
    ) as sender:
        answer = await sender.send(hook(f"http://receiver.example:{receiver.port}/"))

    assert isinstance(answer, Responded)
    assert answer.dialled == f"127.0.0.1:{receiver.port}"
    assert judged == ["127.0.0.2", "127.0.0.1"]


async def test_cases_20_an_address_is_judged_before_it_is_dialled(receiver: Receiver) -> None:
    """A refused address gets no connection at all, and the answer says which address and why."""
    async with Sender(judge_address=lambda _: "is a loopback address") as sender:
        answer = await sender.send(hook(receiver.url("/")))

    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.stage) == (NoAnswerReason.ADDRESS_BLOCKED, Stage.CONNECT)
    assert f"127.0.0.1:{receiver.port} may not be dialled: is a loopback address" in answer.detail
    assert receiver.connection_count == 0


async def test_cases_20_a_name_that_changes_its_mind_is_judged_again(receiver: Receiver) -> None:
    """DNS rebinding: each dial is judged by the address it goes to, not by an earlier one, nor by the name."""
    receiver.script("/", respond(200, b"", close=True))
    answers = iter([(LOOPBACK,), (IPv4Address("127.0.0.2"),)])
    clock_s = 0.0

    async def resolve(_host: str) -> tuple[IPAddress, ...]:
        return next(answers)

    def judge(dialled: Dialled) -> str | None:
        return None if dialled.address == LOOPBACK else "is blocked here"

    async with Sender(resolve=resolve, judge_address=judge, monotonic=lambda: clock_s) as sender:
        first = await sender.send(hook(f"http://receiver.example:{receiver.port}/"))
        clock_s += 60
        second = await sender.send(hook(f"http://receiver.example:{receiver.port}/"))

    assert isinstance(first, Responded)
    assert isinstance(second, NoAnswer)
    assert second.reason is NoAnswerReason.ADDRESS_BLOCKED


async def test_an_event_that_http_cannot_carry_is_an_answer_and_dials_nothing(receiver: Receiver) -> None:
    """The dispatcher has no exception to handle."""
    async with Sender() as sender:
        answer = await sender.send(hook(receiver.url("/"), headers={"x": "a\r\nb"}))

    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.stage) == (NoAnswerReason.REQUEST_INVALID, Stage.REQUEST)
    assert receiver.connection_count == 0
