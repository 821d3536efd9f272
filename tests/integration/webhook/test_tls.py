"""TLS: the certificate is checked for the URL's name, whatever address is dialled."""

import gc
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import IPv4Address

import pytest
import trustme

from connectors.webhook.answer import NoAnswer, NoAnswerReason, Responded
from connectors.webhook.connection import Connection
from connectors.webhook.limits import Limits
from connectors.webhook.sender import Sender
from tests.integration.webhook.sending import hook, resolver
from tests.support.answers import close_without_answer, respond
from tests.support.receiver import Receiver

NAME = "receiver.example"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(NAME, "127.0.0.1").configure_cert(context)
    return context


@pytest.fixture
def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
async def tls_receiver(server_tls: ssl.SSLContext) -> AsyncIterator[Receiver]:
    async with Receiver(tls=server_tls, name=NAME) as receiver:
        yield receiver


def sender(tls: ssl.SSLContext | None = None) -> Sender:
    return Sender(tls=tls, resolve=resolver(IPv4Address("127.0.0.1")))


async def test_the_name_of_the_url_is_asked_for_and_checked(
    tls_receiver: Receiver, server_tls: ssl.SSLContext, client_tls: ssl.SSLContext
) -> None:
    """An address is dialled; SNI, certificate and Host are about the URL's name. The connection is kept."""
    asked_for: list[str | None] = []
    server_tls.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    tls_receiver.script("/", respond(200, b"x" * 20_000), respond(204))
    async with sender(client_tls) as tls_sender:
        answers = [await tls_sender.send(hook(tls_receiver.url("/"))) for _ in range(2)]

    assert [answer.status for answer in answers if isinstance(answer, Responded)] == [200, 204]
    assert asked_for == [NAME]
    assert {request.headers["host"] for request in tls_receiver.requests} == {f"{NAME}:{tls_receiver.port}"}
    assert tls_receiver.connection_count == 1


async def test_an_address_in_the_url_is_checked_too(
    tls_receiver: Receiver, client_tls: ssl.SSLContext
) -> None:
    """A certificate may name an address."""
    async with sender(client_tls) as tls_sender:
        answer = await tls_sender.send(hook(f"https://127.0.0.1:{tls_receiver.port}/"))

    assert isinstance(answer, Responded)


async def test_an_authority_that_nobody_trusts_is_refused(tls_receiver: Receiver) -> None:
    """The default context trusts the system's roots only; nothing of the event is sent."""
    async with sender() as tls_sender:
        answer = await tls_sender.send(hook(tls_receiver.url("/")))

        assert isinstance(answer, NoAnswer)
        assert answer.reason is NoAnswerReason.TLS_FAILED
        assert "certificate" in answer.detail
        assert tls_sender.open_connections == 0
    assert tls_receiver.requests == []


async def test_a_certificate_for_another_name_is_refused(
    tls_receiver: Receiver, client_tls: ssl.SSLContext
) -> None:
    """The error says which name was not in it."""
    async with sender(client_tls) as tls_sender:
        answer = await tls_sender.send(hook(f"https://other.example:{tls_receiver.port}/"))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is NoAnswerReason.TLS_FAILED
    assert "other.example" in answer.detail
    assert tls_receiver.requests == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_tls_before_1_2_is_refused(server_tls: ssl.SSLContext, authority: trustme.CA) -> None:
    """The sender's own context speaks 1.2 or newer, whatever the receiver would like."""
    server_tls.minimum_version = ssl.TLSVersion.TLSv1
    server_tls.maximum_version = ssl.TLSVersion.TLSv1_1
    server_tls.set_ciphers("ALL:@SECLEVEL=0")
    async with Receiver(tls=server_tls, name=NAME) as old, sender() as tls_sender:
        # Trusting it shows that it is the version that is refused.
        authority.configure_trust(tls_sender._dialler._tls)
        answer = await tls_sender.send(hook(old.url("/")))

    assert isinstance(answer, NoAnswer)
    assert answer.reason is NoAnswerReason.TLS_FAILED
    assert old.requests == []


async def test_cases_23_a_stale_tls_connection_is_no_failed_attempt(
    tls_receiver: Receiver, client_tls: ssl.SSLContext
) -> None:
    """As over plain TCP."""
    tls_receiver.script("/", respond(204), close_without_answer(), respond(204))
    async with sender(client_tls) as tls_sender:
        await tls_sender.send(hook(tls_receiver.url("/")))
        answer = await tls_sender.send(hook(tls_receiver.url("/")))

    assert isinstance(answer, Responded)
    assert [request.connection for request in tls_receiver.requests] == [1, 1, 2]


async def test_cases_24_nothing_stays_of_a_tls_connection(
    tls_receiver: Receiver, client_tls: ssl.SSLContext
) -> None:
    """After many connections there is the one context, and no more of anything than before (svix #952)."""

    def alive() -> dict[str, int]:
        gc.collect()
        # Of the two sides' TLS objects ours only: the receiver's last one goes when it likes.
        return {
            "contexts": sum(isinstance(thing, ssl.SSLContext) for thing in gc.get_objects()),
            "sessions": sum(
                isinstance(thing, ssl.SSLObject) and not thing.server_side for thing in gc.get_objects()
            ),
            "connections": sum(isinstance(thing, Connection) for thing in gc.get_objects()),
        }

    tls_receiver.script("/", respond(200, b"ok", close=True))
    tls_sender = sender(client_tls)
    before = alive()
    for _ in range(20):
        await tls_sender.send(hook(tls_receiver.url("/")))
    assert tls_receiver.connection_count == 20
    await tls_sender.close()
    await tls_receiver.wait_for_connections(0)

    assert alive() == before


async def test_an_address_that_swallows_everything_leaves_time_for_the_next(
    tls_receiver: Receiver, client_tls: ssl.SSLContext
) -> None:
    """Each address has its share of the connect timeout; the first one here never answers the handshake."""
    both = resolver(IPv4Address("127.0.0.2"), IPv4Address("127.0.0.1"))
    limits = Limits(connect=timedelta(seconds=2))
    async with (
        Receiver(host="127.0.0.2", port=tls_receiver.port) as silent,
        Sender(tls=client_tls, resolve=both, limits=limits) as tls_sender,
    ):
        answer = await tls_sender.send(hook(tls_receiver.url("/")))

        assert silent.connection_count == 1
    assert isinstance(answer, Responded)
    assert answer.dialled == f"127.0.0.1:{tls_receiver.port}"
