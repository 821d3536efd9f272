"""The scheduler process on real Kafka: what it moves where, and when. The records are written by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median, quantiles

import pytest

from connectors.kafka.record import OutgoingRecord
from streams import topics
from tests.support.figures import note
from tests.support.installation import Installation
from tests.support.parked import LANES, discard_moves, event_id_of, now_ms, parked, wait_for_moves
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, produce

PER_LANE = 60


@pytest.fixture(scope="module")
def scheduling(installation: Installation) -> Iterator[Pipeline]:
    with Pipeline(installation, name="scheduler-moves") as pipeline:
        pipeline.scheduler()
        yield pipeline
    discard_moves(installation.kafka)


@pytest.fixture
def redelivery(scheduling: Pipeline) -> Iterator[TopicTail]:
    tail = TopicTail(scheduling.kafka, topics.REDELIVERY)
    yield tail
    tail.close()


def without(record: OutgoingRecord, header: str) -> OutgoingRecord:
    return replace(record, headers=[(name, value) for name, value in record.headers if name != header])


def test_no_record_is_moved_before_it_is_due(scheduling: Pipeline, redelivery: TopicTail) -> None:
    """INV-3, in every lane of every tier, by the broker's own time of the moved record. Lateness is printed only."""
    start_ms = now_ms()
    due = [(lane, start_ms + lane.hold_ms + number) for number in range(PER_LANE) for lane in LANES]
    records = [parked(lane, due_at_ms=due_at_ms) for lane, due_at_ms in due]
    produce(scheduling.kafka, records)
    moved = wait_for_moves(redelivery, records)
    late_ms = [
        moved[event_id_of(record)][0].appended_at_ms - due_at_ms
        for record, (_, due_at_ms) in zip(records, due, strict=True)
    ]
    assert min(late_ms) >= 0
    p99 = quantiles(late_ms, n=100)[98]
    note(
        f"scheduler, {len(records)} records in {len(LANES)} lanes: p50 {median(late_ms):.0f} ms late, p99 {p99:.0f} ms"
    )
    assert all(len(copies) == 1 for copies in moved.values())


def test_a_moved_record_is_the_same_record(scheduling: Pipeline, redelivery: TopicTail) -> None:
    """INV-5, INV-7: key, bytes, attempt count and all other headers stay; it goes to the partition of its origin."""
    record = parked(LANES[0], due_at_ms=now_ms())
    produce(scheduling.kafka, [record])
    [[copy]] = wait_for_moves(redelivery, [record]).values()
    assert (copy.key, copy.value, copy.partition) == (record.key, record.value, 4)
    assert copy.headers == {name: value.decode() for name, value in record.headers}


def test_a_wait_beyond_the_longest_lane_takes_laps(scheduling: Pipeline, redelivery: TopicTail) -> None:
    """INV-3: a record that says `outbox-not-before` goes round until then, and comes out without that header."""
    until_ms = now_ms() + 5_500
    record = parked(LANES[-1], due_at_ms=now_ms(), outbox_not_before=str(until_ms))
    produce(scheduling.kafka, [record])
    [[copy]] = wait_for_moves(redelivery, [record]).values()
    assert copy.appended_at_ms >= until_ms
    assert "outbox-not-before" not in copy.headers


def test_a_record_from_a_partition_that_is_not_there_is_moved_all_the_same(
    scheduling: Pipeline, redelivery: TopicTail
) -> None:
    """CASES 26 (spring-kafka #1828): its key chooses the partition then, and nothing waits behind it."""
    record = parked(LANES[0], due_at_ms=now_ms())
    headers = [*without(record, "outbox-origin").headers, ("outbox-origin", b"outbox.events/999/1")]
    produce(scheduling.kafka, [replace(record, headers=headers)])
    [[copy]] = wait_for_moves(redelivery, [record]).values()
    assert copy.value == record.value


@pytest.mark.parametrize(
    "broken",
    [
        lambda record: without(record, "outbox-due-at"),
        lambda record: without(record, "outbox-origin"),
        lambda record: replace(record, headers=[*record.headers, ("outbox-due-at", b"soon")]),
        lambda record: replace(record, headers=[*record.headers, ("outbox-due-at", b"\xff\xfe")]),
        lambda record: replace(record, headers=[*record.headers, ("outbox-not-before", b"-1")]),
        lambda record: replace(record, headers=[*record.headers, ("outbox-origin", b"outbox.events/x/y")]),
        lambda record: replace(record, key=None, value=None, headers=[("id", dict(record.headers)["id"])]),
    ],
    ids=["no due time", "no origin", "due soon", "due in no UTF-8", "not before -1", "odd origin", "bare"],
)  # fmt: skip
def test_an_unreadable_record_is_a_dead_letter(
    scheduling: Pipeline, redelivery: TopicTail, broken: Callable[[OutgoingRecord], OutgoingRecord]
) -> None:
    """It is kept with its bytes and the reason, and the records behind it in its lane are moved on."""
    record = broken(parked(LANES[0], due_at_ms=now_ms()))
    behind = parked(LANES[0], due_at_ms=now_ms())
    produce(scheduling.kafka, [record, behind])
    wait_for_moves(redelivery, [behind])
    [letter] = scheduling.dead_letters.wait_for_events([event_id_of(record)])
    assert letter.headers["outbox-error-code"] == "EVENT_MALFORMED"
    assert (letter.key, letter.value) == (record.key, record.value)
    assert letter.headers["outbox-error"]
