"""Setting a group's offsets on a real broker: while it is empty, with metadata, and never beside a member."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from connectors.kafka.errors import ClusterUnreachable, GroupNotEmpty
from connectors.kafka.group_offsets import GroupMember, GroupOffsets
from connectors.kafka.topic_offsets import TopicOffsets
from streams import topics
from streams.errors import ResetRefused
from streams.reset.offsets import OffsetReset
from streams.reset.plan import ToOffsets
from tests.support.eventually import eventually
from tests.support.kafka_tool import KafkaTool
from tests.support.topics import committed
from tests.support.worker_bench import OwnTopics


class Joined:
    """A member of the workers' group, as another process would be one."""

    def __init__(self, servers: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": topics.WORKER_GROUP,
                "client.id": "somebody",
                "enable.auto.commit": False,
                "session.timeout.ms": 6_000,
            }
        )
        self.consumer.subscribe([topics.EVENTS])
        eventually(lambda: self.consumer.poll(0.1) is None and self.consumer.assignment(), what="membership")


class JoinedAfterTheLook(GroupOffsets):
    """Somebody joins after the last look at the members and before the write: the moment that no look can cover."""

    def __init__(self, servers: str) -> None:
        super().__init__(servers)
        self.servers = servers
        self.joined: list[Joined] = []

    def members(self, group: str) -> tuple[GroupMember, ...]:
        found = super().members(group)
        if not self.joined:
            self.joined.append(Joined(self.servers))
        return found


@pytest.fixture
def own(kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    return OwnTopics(kafka_bootstrap_servers, monkeypatch)


def test_offsets_and_metadata_are_set_and_nothing_else(own: OwnTopics, tmp_path: Path) -> None:
    """Of an empty group, even of one that never was; other commits stay, by Kafka's own tool too."""
    offsets, tool = GroupOffsets(own.servers), KafkaTool(own.servers, tmp_path)
    assert offsets.members(topics.WORKER_GROUP) == ()
    offsets.put(topics.WORKER_GROUP, topics.REDELIVERY, {0: 4, 1: 5}, metadata="kept")
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 1, 1: 2}, metadata="1:AgQ=")
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 7}, metadata="@1")
    found = offsets.commits(topics.WORKER_GROUP, topics.EVENTS)
    assert {number: (each.offset, each.metadata) for number, each in found.items()} == {
        0: (7, "@1"),
        1: (2, "1:AgQ="),
    }
    assert tool.offsets(topics.WORKER_GROUP, topics.EVENTS) == {0: 7, 1: 2}
    assert tool.offsets(topics.WORKER_GROUP, topics.REDELIVERY) == {0: 4, 1: 5}
    kept = committed(own.servers, topics.WORKER_GROUP)
    assert kept[topics.REDELIVERY, 0].metadata == "kept"


def test_beside_a_member_kafka_refuses(own: OwnTopics) -> None:
    """Whoever looked before: the broker has the last word, and nothing is changed."""
    own.produce_events(0, 3)
    offsets = GroupOffsets(own.servers)
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 3}, metadata="")
    member = Joined(own.servers)
    (found,) = offsets.members(topics.WORKER_GROUP)
    assert (found.client_id, found.host) == ("somebody", "127.0.0.1")
    with pytest.raises(GroupNotEmpty, match="nothing was changed"):
        offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 1}, metadata="")
    assert offsets.commits(topics.WORKER_GROUP, topics.EVENTS)[0].offset == 3
    member.consumer.close()
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 1}, metadata="")
    assert offsets.commits(topics.WORKER_GROUP, topics.EVENTS)[0].offset == 1


def test_a_member_that_joins_between_the_look_and_the_write_keeps_its_offsets(own: OwnTopics) -> None:
    """CASES 36: no reset under the hands of a worker."""
    own.produce_events(0, 3)
    offsets = JoinedAfterTheLook(own.servers)
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 3}, metadata="")
    resetting = OffsetReset(group=offsets, topic=TopicOffsets(own.servers))
    plans = resetting.plan(ToOffsets({0: 1}))
    with pytest.raises(GroupNotEmpty):
        resetting.write(plans, reset_id="1")
    assert offsets.commits(topics.WORKER_GROUP, topics.EVENTS)[0].offset == 3
    offsets.joined[0].consumer.close()


def test_a_group_that_went_on_since_the_look_is_not_reset(own: OwnTopics) -> None:
    """What was shown is what is written: a worker that came and went makes the plan another."""
    own.produce_events(0, 3)
    offsets = GroupOffsets(own.servers)
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 2}, metadata="")
    resetting = OffsetReset(group=offsets, topic=TopicOffsets(own.servers))
    plans = resetting.plan(ToOffsets({0: 0}))
    offsets.put(topics.WORKER_GROUP, topics.EVENTS, {0: 3}, metadata="")
    with pytest.raises(ResetRefused, match="partition 0"):
        resetting.write(plans, reset_id="1")
    assert offsets.commits(topics.WORKER_GROUP, topics.EVENTS)[0].offset == 3


def test_without_a_broker_it_says_so() -> None:
    """And not that the group is empty."""
    with pytest.raises(ClusterUnreachable):
        GroupOffsets("127.0.0.1:9", timeout=timedelta(seconds=1)).members(topics.WORKER_GROUP)
