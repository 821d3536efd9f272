"""The topics that the settings ask for: what the processes count on."""

from datetime import timedelta

from outbox import MAX_PAYLOAD_BYTES
from streams.retry.tiers import RetryTiers
from streams.settings import Settings
from streams.setup.topics import HEARTBEAT, wanted_topics
from streams.topics import ATTEMPTS, DEAD_LETTER, ENDPOINTS, EVENTS, REDELIVERY

SETTINGS = Settings(
    partitions=7,
    lanes=3,
    replication_factor=3,
    min_insync_replicas=2,
    retention_hours=200,
    dead_letter_retention_hours=900,
    tiers=(timedelta(seconds=1), timedelta(seconds=90), timedelta(minutes=15)),
)
TOPICS = {topic.name: topic for topic in wanted_topics(SETTINGS)}
HOUR_MS = 3_600_000


def test_every_topic_of_the_data_s_way_is_there() -> None:
    tiers = {"outbox.retry-1s", "outbox.retry-90s", "outbox.retry-15m"}
    assert set(TOPICS) == {EVENTS, REDELIVERY, DEAD_LETTER, ATTEMPTS, ENDPOINTS, HEARTBEAT} | tiers


def test_retry_topics_are_those_that_the_scheduler_reads() -> None:
    """Setup and scheduler take the names from one place; the partitions are the lanes."""
    tiers = RetryTiers(SETTINGS.tiers, lanes=SETTINGS.lanes)
    assert all(TOPICS[name].partitions == SETTINGS.lanes for name in tiers.topics)


def test_events_and_redelivery_have_equal_partitions() -> None:
    """Only then does one worker own a key's first attempts and its retries."""
    assert TOPICS[EVENTS].partitions == TOPICS[REDELIVERY].partitions == 7


def test_everything_on_a_delivery_s_way_is_kept_for_its_whole_age() -> None:
    """A record that Kafka deletes before its delivery is given up would be lost without a dead letter (INV-1)."""
    for name, topic in TOPICS.items():
        kept_hours = int(topic.config.get("retention.ms", "0")) / HOUR_MS
        if name not in {ENDPOINTS, HEARTBEAT}:
            assert topic.config["cleanup.policy"] == "delete"
            assert kept_hours == (900 if name == DEAD_LETTER else 200)
    assert TOPICS[ENDPOINTS].config["cleanup.policy"] == "compact"
    assert TOPICS[ENDPOINTS].partitions == 1


def test_retention_counts_from_kafka_s_clock() -> None:
    """Events that waited out a long outage in Postgres must not be deleted as soon as they arrive."""
    assert {topic.config["message.timestamp.type"] for topic in TOPICS.values()} == {"LogAppendTime"}


def test_copies_are_as_set() -> None:
    assert {topic.replication_factor for topic in TOPICS.values()} == {3}
    assert {topic.config["min.insync.replicas"] for topic in TOPICS.values()} == {"2"}


def test_a_dead_letter_of_the_largest_event_fits() -> None:
    """Twice the largest payload fits into every topic: headers and errors on the way never make a record too large."""
    assert all(int(topic.config["max.message.bytes"]) >= 2 * MAX_PAYLOAD_BYTES for topic in TOPICS.values())
