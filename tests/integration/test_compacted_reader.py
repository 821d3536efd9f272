"""Reading a compacted topic on real Kafka: whole, and then on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.compacted import CompactedReader
from connectors.kafka.record import OutgoingRecord
from tests.support.topics import produce

_LONG_S = 40.0
_ANSWER_S = 15.0


class Read:
    """A reader on a topic of its own, and what it was told."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.topic = f"compacted-{uuid4().hex[:8]}"
        self.told: dict[bytes, bytes | None] = {}
        self._servers = bootstrap_servers
        admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        topic = NewTopic(self.topic, 3, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([topic])[self.topic].result(_ANSWER_S)
        self.reader = CompactedReader(
            bootstrap_servers, topic=self.topic, client_id="tests", apply=self.told.__setitem__
        )

    def put(self, **values: bytes | None) -> None:
        produce(
            self._servers,
            [
                OutgoingRecord(topic=self.topic, key=key.encode(), value=value, headers=[])
                for key, value in values.items()
            ],
        )


@pytest.fixture
def read(kafka_bootstrap_servers: str) -> Iterator[Read]:
    made = Read(kafka_bootstrap_servers)
    yield made
    made.reader.close()


def test_a_load_reads_all_partitions_and_tombstones(read: Read) -> None:
    """The newest value of each key, and that a key is gone; an empty topic is read at once."""
    assert read.reader.load() == 0
    read.put(a=b"1", b=b"1", c=b"1", d=b"1")
    read.put(a=b"2", b=None)
    assert read.reader.load() == 6
    assert read.told == {b"a": b"2", b"b": None, b"c": b"1", b"d": b"1"}


def test_a_follower_hands_a_record_on_as_it_comes(read: Read) -> None:
    """It does not wait for more: an event that was committed right after its endpoint would find nobody."""
    read.reader.load()

    def follow() -> None:
        while not read.told:  # what comes first may be word of a broker that just has no leader yet
            read.reader.follow(timeout_s=_LONG_S)

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    read.put(a=b"1")
    following.join(_ANSWER_S)
    assert not following.is_alive()
    assert read.told == {b"a": b"1"}
