"""`GET /v1/tiers`: what waits on a real Kafka, however many ask; and what is said while Kafka is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from secrets import token_hex
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from structlog.testing import capture_logs

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.errors import TopicMissing
from connectors.kafka.groups import ConsumerGroups
from connectors.kafka.record import OutgoingRecord
from connectors.kafka.topics import CreateTopic, Topic
from streams.api.backlog import Backlog
from tests.support.api import running_api
from tests.support.installation import TIERS, Installation
from tests.support.topics import produce

NOTHING = "127.0.0.1:9"
ANSWER_S = 15.0


class Clock:
    """Goes on when it is told to."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def topic(installation: Installation) -> str:
    """A topic of two partitions, with three records in one and two in the other."""
    name = f"test.waiting-{token_hex(4)}"
    wanted = Topic(name=name, partitions=2, replication_factor=1, config={})
    KafkaAdmin(installation.kafka).apply([CreateTopic(wanted)])
    produce(
        installation.kafka,
        [
            OutgoingRecord(topic=name, key=None, value=b"", headers=[], partition=number % 2)
            for number in range(5)
        ],
    )
    return name


def commit(servers: str, group: str, *places: TopicPartition) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=list(places), asynchronous=False)
    consumer.close()


def test_what_is_not_committed_waits(installation: Installation, topic: str) -> None:
    """All of it where nothing was ever committed; then what is behind the commits, partition by partition."""
    groups = ConsumerGroups(installation.kafka)
    group = f"test-{token_hex(4)}"
    assert groups.waiting({group: [topic]}) == {topic: 5}
    commit(installation.kafka, group, TopicPartition(topic, 0, 2))
    assert groups.waiting({group: [topic]}) == {topic: 3}
    commit(installation.kafka, group, TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 2))
    assert groups.waiting({group: [topic]}) == {topic: 0}


def test_a_missing_topic_is_named(installation: Installation) -> None:
    """It is not made by being asked about, and the text says what to run."""
    groups = ConsumerGroups(installation.kafka)
    for _ in range(2):
        with pytest.raises(TopicMissing, match=r"no topic test\.missing: run `outbox setup`"):
            groups.waiting({"test-nobody": ["test.missing"]})


async def test_kafka_is_asked_once_a_second_however_many_ask(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty at once are one question; a second later there is another; one that gives up takes it from nobody."""
    asked = counted(monkeypatch)
    clock = Clock()
    backlog = Backlog(installation.kafka, tiers=TIERS, now_s=clock)
    gone = asyncio.create_task(backlog.now())
    others = [asyncio.create_task(backlog.now()) for _ in range(49)]
    await asyncio.sleep(0)
    gone.cancel()
    answers = await asyncio.gather(*others)
    assert len(asked) == 1
    assert {answer.tiers for answer in answers} == {answers[0].tiers}
    assert [tier.delay for tier in answers[0].tiers] == list(TIERS)
    clock.now_s = 0.9
    await backlog.now()
    assert len(asked) == 1
    clock.now_s = 1.0
    await backlog.now()
    assert len(asked) == 2
    await backlog.close()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The questions that Kafka is asked from now on."""
    asked: list[object] = []
    waiting: Callable[..., Mapping[str, int]] = ConsumerGroups.waiting

    def count(groups: ConsumerGroups, of: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
        asked.append(of)
        return waiting(groups, of)

    monkeypatch.setattr(ConsumerGroups, "waiting", count)
    return asked


async def test_the_api_shows_every_tier(installation: Installation) -> None:
    """In the order of their delays, with what is before the workers beside them."""
    async with running_api(
        installation.database_url, kafka_bootstrap_servers=installation.kafka, tiers=TIERS
    ) as api:
        reply = await api("GET", "/v1/tiers")
    assert reply.status == 200
    shown = reply.json
    assert [(tier["topic"], tier["delay_s"]) for tier in shown["items"]] == [
        ("outbox.retry-1s", 1.0),
        ("outbox.retry-2s", 2.0),
        ("outbox.retry-4s", 4.0),
    ]
    assert all(tier["waiting"] >= 0 for tier in shown["items"])
    assert set(shown) == {"items", "redelivery", "events"}


async def test_without_kafka_only_this_is_missing(outbox_database_url: str) -> None:
    """503 with what to do, in bounded time, however many ask; endpoints and deliveries are answered meanwhile."""
    async with running_api(outbox_database_url, kafka_bootstrap_servers=NOTHING) as api:
        began_s = time.monotonic()
        asking = [asyncio.create_task(api("GET", "/v1/tiers")) for _ in range(20)]
        assert (await api("GET", "/v1/endpoints")).status == 200
        assert (await api("GET", "/v1/deliveries")).status == 200
        replies = await asyncio.gather(*asking)
        assert {(reply.status, reply.kind) for reply in replies} == {(503, "unavailable")}
        assert all("Kafka" in reply.json["detail"] for reply in replies)
        assert time.monotonic() - began_s < ANSWER_S


async def test_an_api_that_was_not_told_of_kafka_says_so(outbox_database_url: str) -> None:
    """It names the setting, as a replay does, doesn't ask to be tried again, and warns of nothing at each question."""
    async with running_api(outbox_database_url, kafka_bootstrap_servers="") as api:
        with capture_logs() as lines:
            replies = [await api("GET", "/v1/tiers") for _ in range(2)]
        path = f"/v1/deliveries/{uuid4()}/resend"
        resend = await api("POST", path, headers={"Idempotency-Key": "k"})
    for reply in (*replies, resend):
        assert (reply.status, reply.kind) == (503, "kafka-not-set")
        assert "OUTBOX_KAFKA_BOOTSTRAP_SERVERS is not set for this API" in reply.json["detail"]
        assert reply.json["detail"] == resend.json["detail"]
        assert "Retry-After" not in reply.headers
    assert [line["event"] for line in lines if line["log_level"] != "info"] == []


async def test_a_topic_that_setup_has_not_made_is_said(installation: Installation) -> None:
    """An API with other tiers than the cluster: what to do, not a number that is wrong."""
    async with running_api(installation.database_url, kafka_bootstrap_servers=installation.kafka) as api:
        reply = await api("GET", "/v1/tiers")
    assert (reply.status, reply.kind) == (503, "unavailable")
    assert "outbox setup" in reply.json["detail"]
