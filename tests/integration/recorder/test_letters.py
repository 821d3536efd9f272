"""Dead letters on real Kafka, as the recorder keeps them in Postgres: each once, whatever happens meanwhile."""

from __future__ import annotations

from secrets import token_hex
from typing import Any
from uuid import uuid4

import psycopg

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.records.outcome import ErrorCode
from streams.records.target import TargetName
from tests.support.dead_letters import letter_record, unwanted_record
from tests.support.deliveries import NOW_MS, a_delivery, an_event
from tests.support.eventually import eventually
from tests.support.group import wait_until_empty
from tests.support.pipeline import Pipeline
from tests.support.topics import produce


def letters(count: int, target: str) -> list[OutgoingRecord]:
    """So many, of events of their own."""
    name = TargetName("endpoint", target.partition(":")[2])
    return [
        letter_record(
            a_delivery(
                event=an_event(id=uuid4(), aggregate_id=str(number)),
                target=name,
                attempt=2,
                first_failed_at_ms=NOW_MS,
            )
        )
        for number in range(count)
    ]


def kept(url: str, where: str, value: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(
            f"select * from outbox.dead_letters where {where} = %s order by place_partition, place_offset",  # noqa: S608
            (value,),
        ).fetchall()


def wait_until_kept(url: str, target: str, records: list[OutgoingRecord]) -> None:
    wanted = sorted(dict(record.headers)["id"].decode() for record in records)

    def all_there() -> bool:
        return sorted(str(row["event_id"]) for row in kept(url, "target", target)) == wanted

    eventually(all_there, what=f"{len(records)} dead letters of {target}", timeout_s=60)


def test_they_are_kept_while_postgres_was_away(pipeline: Pipeline, target: str) -> None:
    """It waits, and goes on by itself: what was there before and what came meanwhile is kept, once."""
    url, postgres = pipeline.installation.database_url, pipeline.installation.stack.service("postgres")
    records = letters(600, target)
    recorder = pipeline.recorder()
    produce(pipeline.kafka, records[:200])
    wait_until_kept(url, target, records[:200])
    postgres.kill()
    try:
        produce(pipeline.kafka, records[200:])
        recorder.wait_for("postgres_away", count=3, topic=topics.DEAD_LETTER)
    finally:
        postgres.start()
        postgres.wait_ready()
    wait_until_kept(url, target, records)
    recorder.wait_for("postgres_back", topic=topics.DEAD_LETTER)
    assert recorder.stop() == 0
    assert recorder.of("recorder_stopped", topic=topics.DEAD_LETTER)


def test_a_recorder_that_is_killed_repeats_nothing(pipeline: Pipeline, target: str) -> None:
    """With kill -9 in the middle of batches; nor does what was done with a letter meanwhile go back."""
    url = pipeline.installation.database_url
    records = letters(4_000, target)
    produce(pipeline.kafka, records)
    for at in (1, 1_500, 2_500):
        recorder = pipeline.recorder()
        eventually(lambda at=at: len(kept(url, "target", target)) >= at, what=f"{at} dead letters")  # type: ignore[misc]
        recorder.kill()
        with psycopg.connect(url) as connection:
            connection.execute(
                "update outbox.dead_letters set status = 'discarded' where target = %s", (target,)
            )
        wait_until_empty(pipeline.kafka, topics.LETTERS_GROUP)
    discarded = len(kept(url, "status", "discarded"))
    produce(pipeline.kafka, records[:1])  # buried again: a dead letter of its own
    recorder = pipeline.recorder()
    wait_until_kept(url, target, [*records, records[0]])
    assert recorder.stop() == 0
    rows = kept(url, "target", target)
    assert len({(row["place_partition"], row["place_offset"]) for row in rows}) == len(rows)
    assert sum(row["status"] == "discarded" for row in rows) >= discarded > 0


def test_cases_17_two_lists(pipeline: Pipeline, target: str) -> None:
    """CASES 17: a customer's 4xx and an event that nobody wants are not among those that can't be read."""
    url = pipeline.installation.database_url
    mark = f"test.{token_hex(5)}"
    refused = letters(1, target)[0]
    unwanted = unwanted_record(type=mark)
    whole = letter_record(code=ErrorCode.EVENT_MALFORMED, error=mark)
    bare = OutgoingRecord(
        topic=topics.DEAD_LETTER, key=None, value=b"\xff", headers=[("outbox-error", mark.encode())]
    )
    recorder = pipeline.recorder()
    produce(pipeline.kafka, [bare, whole, refused, unwanted])
    wait_until_kept(url, target, [refused])
    eventually(lambda: len(kept(url, "error", mark)) == 2, what="both that can't be read")
    eventually(lambda: len(kept(url, "event_type", mark)) == 1, what="the one that nobody wants")
    assert {row["class"] for row in kept(url, "error", mark)} == {"poison"}
    assert {row["class"] for row in kept(url, "target", target)} == {"undelivered"}
    (nobody,) = kept(url, "event_type", mark)
    assert (nobody["class"], nobody["code"], nobody["target"]) == (
        "undelivered",
        "HANDLER_NOT_REGISTERED",
        None,
    )
    assert recorder.stop() == 0


def test_what_died_before_its_day_was_kept_is_told(pipeline: Pipeline, target: str) -> None:
    """Days are dropped by the retention of dead letters, not by that of the delivery log."""
    url = pipeline.installation.database_url
    records = letters(3, target)
    recorder = pipeline.recorder(log_retention_days=5)
    produce(pipeline.kafka, records)
    wait_until_kept(url, target, records)
    with psycopg.connect(url) as connection:
        connection.execute(
            "create table if not exists outbox.dead_letters_20200101 (like outbox.dead_letters including all)"
        )
    assert recorder.stop() == 0
    again = pipeline.recorder()
    dropped = again.wait_for("partitions_dropped", topic=topics.DEAD_LETTER)
    assert "dead_letters_20200101" in dropped["partitions"].split()
    assert again.stop() == 0
    assert len(kept(url, "target", target)) == 3
