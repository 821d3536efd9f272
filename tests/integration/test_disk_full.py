"""A full disk as Kafka sees it: the real broker halts, comes back, and has all that it acknowledged."""

from __future__ import annotations

import secrets

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # the package has no __all__

from devstack.stack import EmbeddedStack
from tests.support.disk_full import fill
from tests.support.eventually import eventually
from tests.support.topics import TopicTail

EVENTS = 50


@pytest.fixture
def topic(kafka_bootstrap_servers: str) -> str:
    name = f"disk-full-{secrets.token_hex(4)}"
    client = AdminClient({"bootstrap.servers": kafka_bootstrap_servers})
    client.create_topics([NewTopic(name, 1, 1)])[name].result()
    return name


def test_a_full_disk_ends_the_broker_and_nothing_acknowledged_is_lost(
    stack: EmbeddedStack, topic: str
) -> None:
    """The broker halts by itself; started again it has every record that it had acknowledged, once."""
    kafka = stack.service("kafka")
    acknowledged: list[bytes] = []

    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged.append(message.value() or b"")

    producer = Producer(
        {"bootstrap.servers": stack.kafka.bootstrap_servers, "enable.idempotence": True, "log_level": 2}
    )
    for number in range(EVENTS):
        producer.produce(topic, str(number).encode(), on_delivery=note)
    producer.flush()
    pid = kafka.pid
    assert pid is not None
    fill(pid)
    for number in range(EVENTS, 2 * EVENTS):
        producer.produce(topic, str(number).encode(), on_delivery=note)
    try:
        eventually(lambda: kafka.has_died, what="the end of the broker")
    finally:
        kafka.start()
        kafka.wait_ready()
    producer.flush()
    records = TopicTail(stack.kafka.bootstrap_servers, topic, from_beginning=True)
    stored = [record.value for record in records.to_the_end()]
    records.close()
    assert sorted(acknowledged) == sorted(str(number).encode() for number in range(2 * EVENTS))
    assert stored == acknowledged
