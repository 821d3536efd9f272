"""What is read once, twice, by two, or can't be: the log has each attempt once, and each delivery as it stands."""

from __future__ import annotations

import random
import time
from typing import Any
from uuid import UUID

import psycopg

from connectors.kafka.groups import ConsumerGroups
from connectors.kafka.record import OutgoingRecord
from streams import topics
from tests.support.attempt_records import CREATED_AT_MS, many_lives, record_of, value_of
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.figures import note
from tests.support.group import wait_until_empty
from tests.support.pipeline import Pipeline
from tests.support.recorded import recorded, should_be, wait_until_recorded
from tests.support.topics import produce

RECORDERS = topics.RECORDER_GROUP


def attempts_of(url: str, target: str) -> int:
    return len(recorded(url, target)[1])


def wait_until_there_are(number: int, url: str, target: str) -> None:
    eventually(lambda: attempts_of(url, target) >= number, what=f"{number} attempts in the log")


def partitions_of(recorders: list[Child]) -> list[int]:
    return [recorder.of("recorder_assigned", topic=topics.ATTEMPTS)[-1]["count"] for recorder in recorders]


def test_a_recorder_that_is_killed_over_and_over_loses_and_repeats_nothing(
    pipeline: Pipeline, target: str
) -> None:
    """CASES 43: kill -9 in the middle of batches, before and after a commit: the log is what one reading gives."""
    url = pipeline.installation.database_url
    records = many_lives(12_000, seed=3, target=target)
    produce(pipeline.kafka, records)
    chance = random.Random(5)
    at = 0
    for _ in range(4):
        recorder = pipeline.recorder()
        at += chance.randint(200, 3_000)
        wait_until_there_are(at, url, target)
        recorder.kill()
        wait_until_empty(pipeline.kafka, RECORDERS)
    recorder = pipeline.recorder()
    wait_until_recorded(url, target, records)
    assert recorder.stop() == 0
    assert recorded(url, target) == should_be(records)


def test_records_that_are_read_again_change_nothing(pipeline: Pipeline, target: str) -> None:
    """A crash between the commit in Postgres and the one on Kafka, in large: all records stand on the topic twice."""
    url = pipeline.installation.database_url
    records = many_lives(500, seed=4, target=target)
    shuffled = [*records]
    random.Random(1).shuffle(shuffled)
    with_repeats: list[OutgoingRecord] = [*records, *shuffled]
    produce(pipeline.kafka, with_repeats)
    recorder = pipeline.recorder()
    wait_until_recorded(url, target, records)
    assert recorder.stop() == 0
    assert recorded(url, target) == should_be(records)


def test_two_recorders_share_the_work_and_one_takes_over(pipeline: Pipeline, target: str) -> None:
    """Partitions come and go while records flow; a frozen recorder that wakes up writes nothing wrong."""
    url = pipeline.installation.database_url
    records = many_lives(6_000, seed=5, target=target)
    third = len(records) // 3
    recorders = [pipeline.recorder(), pipeline.recorder()]
    produce(pipeline.kafka, records[:third])
    eventually(lambda: partitions_of(recorders) == [3, 3], what="three partitions each")
    recorders[0].freeze()
    produce(pipeline.kafka, records[third : 2 * third])
    wait_until_recorded(
        url, target, records[: 2 * third]
    )  # those of the frozen one too: its session has ended
    recorders[0].thaw()
    produce(pipeline.kafka, records[2 * third :])
    wait_until_recorded(url, target, records)
    assert [recorder.stop() for recorder in recorders] == [0, 0]
    assert recorded(url, target) == should_be(records)


def test_a_stop_finishes_the_batch_and_commits_it(pipeline: Pipeline, target: str) -> None:
    """SIGTERM while records flow: what was written is committed, so the next one begins where this one ended."""
    url = pipeline.installation.database_url
    records = many_lives(4_000, seed=6, target=target)
    recorder = pipeline.recorder()
    produce(pipeline.kafka, records)
    wait_until_there_are(1, url, target)
    assert recorder.stop() == 0
    written = attempts_of(url, target)
    second = pipeline.recorder()
    wait_until_recorded(url, target, records)
    assert second.stop() == 0
    assert second.of("recorder_stopped", topic=topics.ATTEMPTS)[0].get("kept", 0) == len(records) - written


def test_an_unreadable_record_stops_nothing(pipeline: Pipeline, target: str) -> None:
    """CASES 41: garbage, a newer version's outcome, a tombstone: told with their places, counted, and passed over.

    So are attempts of events that are older than the log, or from a day that is not to come soon.
    """
    url = pipeline.installation.database_url
    recorder = pipeline.recorder()
    event_id = str(UUID(int=random.Random(target).getrandbits(128), version=4))
    now_ms = time.time_ns() // 1_000_000
    common: dict[str, Any] = {"event_id": event_id, "target": target, "event_created_at_ms": now_ms}
    good = record_of(value_of(**common, error="a\0b", attempt_id=str(UUID(int=1))), partition=0)
    bad = [
        record_of(b'{"attempt_id": "half of', partition=0),
        record_of(value_of(**common, outcome="teleported"), partition=0),
        OutgoingRecord(topic=topics.ATTEMPTS, key=b"x", value=None, headers=[], partition=0),
        record_of(
            value_of(**{**common, "event_created_at_ms": CREATED_AT_MS - 40 * 365 * 86_400_000}), partition=0
        ),
        record_of(value_of(**{**common, "event_created_at_ms": now_ms + 9 * 86_400_000}), partition=0),
    ]
    produce(pipeline.kafka, [*bad, good])
    wait_until_recorded(url, target, [good])
    assert recorder.stop() == 0
    skipped = recorder.of("records_skipped", topic=topics.ATTEMPTS)
    assert {line["reason"] for line in skipped} == {"too_far_ahead", "too_old", "unreadable"}
    assert {line["topic"] for line in skipped} == {topics.ATTEMPTS}
    assert all(line["places"].startswith("0/") for line in skipped)
    stopped = recorder.of("recorder_stopped", topic=topics.ATTEMPTS)[0]
    assert (stopped["unreadable"], stopped["too_old"], stopped["too_far_ahead"]) == (3, 1, 1)


def test_after_a_long_stop_it_catches_up(pipeline: Pipeline, target: str) -> None:
    """What came while no recorder ran is recorded, in memory that doesn't grow with it. The rate is printed."""
    url = pipeline.installation.database_url
    records = many_lives(30_000, seed=8, target=target)
    produce(pipeline.kafka, records)
    started_s = time.monotonic()
    recorder = pipeline.recorder()
    wait_until_recorded(url, target, records, timeout_s=90)
    took_s = time.monotonic() - started_s
    note(f"recorder: {len(records):,} attempts after a stop, all in the log {took_s:.1f} s after its start")
    assert recorder.stop() == 0


def test_days_that_are_over_are_dropped_by_the_recorder(pipeline: Pipeline, target: str) -> None:
    """CASES 43: at its start, and then once an hour; the days to come are made before anything comes for them."""
    url = pipeline.installation.database_url
    old = many_lives(20, seed=9, target=target, days_ago=12)
    recorder = pipeline.recorder()
    produce(pipeline.kafka, old)
    wait_until_recorded(url, target, old)
    assert recorder.stop() == 0
    shorter = pipeline.recorder(log_retention_days=10)
    dropped = shorter.wait_for("partitions_dropped", topic=topics.ATTEMPTS)["partitions"].split()
    assert {name.partition("_")[0] for name in dropped} == {"attempts", "deliveries"}
    assert recorded(url, target) == (set(), [])
    produce(pipeline.kafka, old[:5])  # a retry, or a replay, that comes after its log has gone
    assert shorter.wait_for("records_skipped", topic=topics.ATTEMPTS)["reason"] == "too_old"
    assert shorter.stop() == 0
    with psycopg.connect(url) as connection:
        ahead = connection.execute(
            "select to_regclass('outbox.deliveries_' || to_char(now() at time zone 'UTC' + interval '2 days',"
            " 'YYYYMMDD')) is not null"
        ).fetchone()
    assert ahead == (True,)


def test_how_far_it_is_behind_is_known(pipeline: Pipeline, target: str) -> None:
    """`outbox doctor` asks for it: what has not been recorded yet, to the record; nothing of a group that never was."""
    groups = ConsumerGroups(pipeline.kafka)
    assert groups.behind("outbox-nobody", topics.ATTEMPTS) is None
    first, later = many_lives(100, seed=31, target=target), many_lives(40, seed=32, target=target)
    recorder = pipeline.recorder()
    produce(pipeline.kafka, first)
    wait_until_recorded(pipeline.installation.database_url, target, first)
    assert recorder.stop() == 0
    assert groups.behind(RECORDERS, topics.ATTEMPTS) == 0
    produce(pipeline.kafka, later)
    assert groups.behind(RECORDERS, topics.ATTEMPTS) == len(later)
