"""The group's committed offsets and the log have parted: what is there is delivered, and what happened is said.

CASES 31. Retention, a truncated log or expired offsets leave a group with an offset that the log doesn't have. Clients
then begin elsewhere, in silence; and whoever believes the commit more than the log passes over what is there.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from structlog.testing import capture_logs

from streams import topics
from tests.support.eventually import eventually
from tests.support.parked import LANES, discard_moves, now_ms, parked, wait_for_moves
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, committed, produce
from tests.support.worker_bench import OwnTopics, WorkerBench

_ANSWER_S = 15.0


def commit(servers: str, group: str, *, topic: str, partition: int, offset: int) -> None:
    """Commit an offset for a group, as soon as it has no member: one that was killed lives on in it for a session."""
    admin = AdminClient({"bootstrap.servers": servers})

    def taken() -> bool:
        places = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition, offset)])
        answer = admin.alter_consumer_group_offsets([places])[group].result(_ANSWER_S)
        return all(place.error is None for place in answer.topic_partitions)

    eventually(taken, what=f"{group} to be without members")


@pytest.fixture
def own(kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    return OwnTopics(kafka_bootstrap_servers, monkeypatch)


@pytest.fixture
async def worker(own: OwnTopics) -> AsyncIterator[WorkerBench]:
    made = WorkerBench(own.servers)
    yield made
    await made.stop()


async def test_a_commit_beyond_the_end_of_the_log_skips_nothing(own: OwnTopics, worker: WorkerBench) -> None:
    """INV-1, CASES 31: all that the log has is delivered, loudly, and the commit is right again."""
    own.produce_events(0, 3)
    commit(own.servers, topics.WORKER_GROUP, topic=own.events, partition=0, offset=1_000)
    with capture_logs() as said:
        await worker.start()
        await worker.until(lambda: len(worker.target.begun) >= 3, what="the three events")
    assert worker.begun() == [0, 1, 2]
    [line] = [line for line in said if line["event"] == "log_begins_elsewhere"]
    assert (line["log_level"], line["committed"], line["found"]) == ("error", 1_000, 0)
    await worker.stop()
    kept = await asyncio.to_thread(committed, own.servers, topics.WORKER_GROUP)
    assert kept[own.events, 0].offset == 3


async def test_events_that_were_deleted_before_they_were_read_are_told(
    own: OwnTopics, worker: WorkerBench
) -> None:
    """CASES 31: retention was quicker than the group; how many are gone stands in the log, at level error."""
    own.produce_events(0, 5)
    commit(own.servers, topics.WORKER_GROUP, topic=own.events, partition=0, offset=1)
    admin = AdminClient({"bootstrap.servers": own.servers})
    for deleted in admin.delete_records([TopicPartition(own.events, 0, 3)]).values():
        deleted.result(_ANSWER_S)
    with capture_logs() as said:
        await worker.start()
        await worker.until(lambda: len(worker.target.begun) >= 2, what="the two events that are left")
    assert worker.begun() == [3, 4]
    [line] = [line for line in said if line["event"] == "log_begins_elsewhere"]
    assert (line["log_level"], line["committed"], line["found"]) == ("error", 1, 3)


async def test_a_group_without_offsets_says_that_it_reads_everything(
    own: OwnTopics, worker: WorkerBench
) -> None:
    """CASES 31: right at a first start, and a repetition of everything where the offsets have expired."""
    own.produce_events(0, 2)
    with capture_logs() as said:
        await worker.start()
        await worker.until(lambda: len(worker.target.begun) >= 2, what="both events")
    lines = [line for line in said if line["event"] == "no_committed_offsets"]
    assert {line["log_level"] for line in lines} == {"warning"}
    assert f"{own.events}/0" in lines[-1]["partitions"]
    assert not [line for line in said if line["event"] == "log_begins_elsewhere"]


def test_a_lane_whose_commit_is_beyond_its_end_is_moved(pipeline: Pipeline) -> None:
    """INV-1, CASES 31: the scheduler moves what is parked there, and says what it met."""
    lane = LANES[0]
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    commit(
        pipeline.kafka, topics.SCHEDULER_GROUP, topic=lane.topic, partition=lane.partition, offset=10_000_000
    )
    record = parked(lane, due_at_ms=now_ms())
    produce(pipeline.kafka, [record])
    scheduler = pipeline.scheduler()
    wait_for_moves(tail, [record])
    assert scheduler.wait_for("log_begins_elsewhere")["committed"] == 10_000_000
    assert scheduler.stop() == 0
    tail.close()
    discard_moves(pipeline.kafka)
