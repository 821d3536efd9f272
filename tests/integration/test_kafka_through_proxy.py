"""Kafka behind the proxy that tests own: a client that comes that way stays on it, and all others go past it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.record import OutgoingRecord
from devstack.port import LOOPBACK
from devstack.stack import EmbeddedStack, temporary_stack
from tests.support.tcp_proxy import TcpProxy
from tests.support.topics import TopicTail, produce

TOPIC = "through-the-proxy"


@pytest.fixture(scope="module")
def proxied() -> Iterator[tuple[EmbeddedStack, TcpProxy]]:
    with (
        TcpProxy(LOOPBACK, 0, upstream=lambda: (LOOPBACK, stack.kafka.proxied_port)) as proxy,
        temporary_stack(kafka_via=proxy.address) as stack,
    ):
        client = AdminClient({"bootstrap.servers": stack.kafka.bootstrap_servers})
        client.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
        yield stack, proxy


def send(bootstrap_servers: str, value: bytes) -> None:
    produce(bootstrap_servers, [OutgoingRecord(topic=TOPIC, key=None, value=value, headers=[])])


def last(bootstrap_servers: str) -> bytes | None:
    tail = TopicTail(bootstrap_servers, TOPIC, from_beginning=True)
    try:
        return tail.to_the_end()[-1].value
    finally:
        tail.close()


def test_each_way_stays_its_own_and_both_come_back_with_the_broker(
    proxied: tuple[EmbeddedStack, TcpProxy],
) -> None:
    """What a client of the proxy writes and reads passes the proxy, and nothing of another's; also after a kill."""
    stack, proxy = proxied
    assert stack.kafka.proxied_port in stack.kafka.ports
    for generation in (b"first", b"second"):
        before = proxy.bytes_to_upstream, proxy.bytes_to_clients
        send(stack.kafka.bootstrap_servers, b"past it " + generation)
        assert last(stack.kafka.bootstrap_servers) == b"past it " + generation
        assert (proxy.bytes_to_upstream, proxy.bytes_to_clients) == before

        payload = generation * 1000
        send(proxy.netloc, payload)
        assert last(proxy.netloc) == payload
        assert proxy.bytes_to_upstream - before[0] > len(payload)
        assert proxy.bytes_to_clients - before[1] > len(payload)

        kafka = stack.service("kafka")
        kafka.kill()
        kafka.start()
        kafka.wait_ready()
