"""Postgres or Kafka is away, or has lost something: the recorder waits, goes on by itself, and says what it lacks."""

from __future__ import annotations

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from streams import topics
from streams.recorder.batch import BATCH_RECORDS
from tests.support.attempt_records import many_lives
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.recorded import recorded, should_be, wait_until_recorded
from tests.support.topics import TopicTail, group_members, produce


def test_postgres_is_away_and_comes_back(pipeline: Pipeline, target: str) -> None:
    """It stays in its group, tries again with longer and longer pauses, and goes on where it was, by itself.

    The connection breaks while a batch is written; a start while Postgres is away waits as well.
    """
    url, postgres = pipeline.installation.database_url, pipeline.installation.stack.service("postgres")
    records = many_lives(12_000, seed=21, target=target)
    first = len(records) // 4
    recorder = pipeline.recorder()
    produce(pipeline.kafka, records[:first])
    eventually(lambda: len(recorded(url, target)[1]) > 0, what="the first batch")
    postgres.kill()
    try:
        produce(pipeline.kafka, records[first:])
        recorder.wait_for("postgres_away", count=5, topic=topics.ATTEMPTS)  # about eight seconds
        other = pipeline.recorder()
        assert group_members(pipeline.kafka, topics.RECORDER_GROUP) == 2
        other.wait_for("postgres_away", topic=topics.ATTEMPTS)
        assert not recorder.of(
            "postgres_back", topic=topics.ATTEMPTS
        )  # although the rebalance took what it held
    finally:
        postgres.start()
        postgres.wait_ready()
    wait_until_recorded(url, target, records)
    recorder.wait_for("postgres_back", topic=topics.ATTEMPTS)
    waits = [line["again_in_s"] for line in recorder.of("postgres_away", topic=topics.ATTEMPTS)]
    assert waits[:5] == [0.5, 1, 2, 4, 8]
    assert all(
        line["held"] <= BATCH_RECORDS for line in recorder.of("postgres_away", topic=topics.ATTEMPTS)
    )  # the rest stays on Kafka
    assert recorder.stop() == 0
    assert other.stop() == 0
    assert recorded(url, target) == should_be(records)


def test_a_stop_while_postgres_is_away_is_quick_and_loses_nothing(pipeline: Pipeline, target: str) -> None:
    """What it held is not committed: the next one reads it."""
    url, postgres = pipeline.installation.database_url, pipeline.installation.stack.service("postgres")
    recorder = pipeline.recorder()
    records = many_lives(300, seed=22, target=target)
    postgres.kill()
    try:
        produce(pipeline.kafka, records)
        recorder.wait_for("postgres_away", count=2, topic=topics.ATTEMPTS)
        assert recorder.stop() == 0
    finally:
        postgres.start()
        postgres.wait_ready()
    second = pipeline.recorder()
    wait_until_recorded(url, target, records)
    assert second.stop() == 0


def test_kafka_is_killed_and_comes_back(pipeline: Pipeline, target: str) -> None:
    """The client heals by itself: what came before and after the crash is in the log."""
    url, kafka = pipeline.installation.database_url, pipeline.installation.stack.service("kafka")
    recorder = pipeline.recorder()
    before, after = (many_lives(500, seed=seed, target=target) for seed in (23, 24))
    produce(pipeline.kafka, before)
    wait_until_recorded(url, target, before)
    kafka.kill()
    kafka.start()
    kafka.wait_ready()
    produce(pipeline.kafka, after)
    wait_until_recorded(url, target, [*before, *after])
    assert recorder.stop() == 0


def test_a_stop_while_kafka_is_away_ends(pipeline: Pipeline, target: str) -> None:
    """It leaves without a commit that nobody takes; the next one writes again what that would have covered."""
    url, kafka = pipeline.installation.database_url, pipeline.installation.stack.service("kafka")
    records = many_lives(200, seed=28, target=target)
    recorder = pipeline.recorder()
    produce(pipeline.kafka, records)
    wait_until_recorded(url, target, records)
    kafka.kill()
    try:
        assert recorder.stop() == 0
    finally:
        kafka.start()
        kafka.wait_ready()
    second = pipeline.recorder()
    wait_until_recorded(url, target, records)
    assert second.stop() == 0


def test_records_that_kafka_deleted_before_they_were_read_are_told(pipeline: Pipeline, target: str) -> None:
    """A recorder that was down for longer than the topic's retention says what the log lacks, and records the rest."""
    url = pipeline.installation.database_url
    assert pipeline.recorder().stop() == 0  # it has committed where it is, or has read nothing
    first, lost, rest = (many_lives(50, seed=seed, target=target) for seed in (25, 26, 27))
    recorder = pipeline.recorder()
    produce(pipeline.kafka, first)
    wait_until_recorded(url, target, first)
    assert recorder.stop() == 0
    tail = TopicTail(pipeline.kafka, topics.ATTEMPTS)
    produce(pipeline.kafka, lost)
    tail.wait_until(lambda read: len(read) >= len(lost), what="the records that are to be deleted")
    ends = {record.partition: record.offset + 1 for record in tail.records}
    tail.close()
    admin = AdminClient({"bootstrap.servers": pipeline.kafka})
    deleted = admin.delete_records(
        [TopicPartition(topics.ATTEMPTS, number, end) for number, end in ends.items()]
    )
    for future in deleted.values():
        future.result(15)
    produce(pipeline.kafka, rest)
    recorder = pipeline.recorder()
    wait_until_recorded(url, target, [*first, *rest])
    assert recorder.stop() == 0
    assert sum(
        line["count"] for line in recorder.of("attempts_deleted_unread", topic=topics.ATTEMPTS)
    ) == len(lost)
