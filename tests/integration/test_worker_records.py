"""The worker process on real Kafka: records that Debezium or the scheduler never write, or write twice.

The test writes them itself, all into one partition, so that what comes behind them shows that it moves on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.records.delivery import Delivery, Origin
from streams.records.target import TargetName
from streams.records.wire import encode_delivery, encode_event
from tests.support.answers import respond
from tests.support.child import Child
from tests.support.deliveries import an_event
from tests.support.installation import Installation
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.topics import produce

PARTITION = 3
BROKEN_ENDPOINT = f"ep_broken{uuid4().hex[:8]}"
UNREADABLE_ENDPOINTS = [
    OutgoingRecord(topic=topics.ENDPOINTS, partition=0, key=BROKEN_ENDPOINT.encode(), value=value, headers=[])
    for value in (b"{", b"[]", b'{"id": 5}', b"\xff")
]


@pytest.fixture(scope="module")
def working(installation: Installation) -> Iterator[Pipeline]:
    with Pipeline(installation, name="worker-records") as pipeline:
        yield pipeline


@pytest.fixture(scope="module")
def mailbox(working: Pipeline) -> Mailbox:
    return working.mailbox()


@pytest.fixture(scope="module")
def worker(working: Pipeline, mailbox: Mailbox) -> Child:
    produce(working.kafka, UNREADABLE_ENDPOINTS)
    child = working.worker(handlers="tests.support.scripted_handlers")
    working.wait_until_known(mailbox)
    return child


def event_record(event_type: str, event_id: UUID | None = None) -> OutgoingRecord:
    """As Debezium writes it."""
    event = an_event(id=event_id or uuid4(), type=event_type)
    return OutgoingRecord(
        topic=topics.EVENTS,
        partition=PARTITION,
        key=event.aggregate_id.encode(),
        value=event.payload,
        headers=encode_event(event),
    )


def redelivery_record(event_type: str, target: TargetName) -> OutgoingRecord:
    """As the scheduler moves it on."""
    event = an_event(id=uuid4(), type=event_type)
    delivery = Delivery(event=event, target=target, origin=Origin(topics.EVENTS, PARTITION, 0), attempt=2)
    return OutgoingRecord(
        topic=topics.REDELIVERY,
        partition=PARTITION,
        key=event.aggregate_id.encode(),
        value=event.payload,
        headers=encode_delivery(delivery),
    )


def id_of(record: OutgoingRecord) -> str:
    return dict(record.headers)["id"].decode(errors="replace")


def with_header(record: OutgoingRecord, name: str, value: bytes | None) -> OutgoingRecord:
    """The same with another value of a header, or without it."""
    others = [(known, kept) for known, kept in record.headers if known != name]
    return replace(record, headers=others if value is None else [*others, (name, value)])


BROKEN: dict[str, Callable[[OutgoingRecord], OutgoingRecord]] = {
    "no id": lambda record: with_header(record, "id", None),
    "no UUID": lambda record: with_header(record, "id", b"42"),
    "no type": lambda record: with_header(record, "type", None),
    "type in no UTF-8": lambda record: with_header(record, "type", b"\xff\xfe"),
    "no time zone": lambda record: with_header(record, "created-at", b"2026-01-01T00:00:00"),
    "no time": lambda record: with_header(record, "created-at", b"yesterday"),
    "headers no JSON": lambda record: with_header(record, "headers", b"{"),
    "headers no object": lambda record: with_header(record, "headers", b"[1]"),
    "key in no UTF-8": lambda record: replace(record, key=b"\xff\xfe"),
    "no headers at all": lambda record: replace(record, headers=[]),
    "nothing at all": lambda record: replace(record, key=None, value=None, headers=[]),
    "bytes": lambda record: replace(record, value=bytes(range(256)), headers=[]),
}


@pytest.mark.parametrize("how", BROKEN)
def test_an_undecodable_event_is_a_dead_letter(
    working: Pipeline, worker: Child, mailbox: Mailbox, how: str
) -> None:
    """CASES 41: it is kept with its bytes, headers and origin, and the partition moves on."""
    record = BROKEN[how](event_record(mailbox.event_type))
    record = replace(record, headers=[*record.headers, ("marked", how.encode())])
    good = event_record(mailbox.event_type)
    produce(working.kafka, [record, good])
    mailbox.wait_for_events([id_of(good)])
    letters = working.dead_letters.wait_until(
        lambda letters: how in {letter.headers.get("marked") for letter in letters}, what="dead letter"
    )
    [letter] = [letter for letter in letters if letter.headers.get("marked") == how]
    assert letter.headers["outbox-error-code"] == "EVENT_MALFORMED"
    assert letter.headers["outbox-origin"].startswith(f"{topics.EVENTS}/{PARTITION}/")
    assert (letter.key, letter.value) == (record.key, record.value)
    assert worker.is_running


def test_a_repeated_event_is_sent_once(working: Pipeline, worker: Child, mailbox: Mailbox) -> None:
    """What Debezium repeats after a restart dies at the worker that has seen it (INV-8)."""
    assert worker.is_running
    record, last = event_record(mailbox.event_type), event_record(mailbox.event_type)
    produce(working.kafka, [record, record, record, last])
    mailbox.wait_for_events([id_of(last)])
    working.attempts.wait_for(id_of(last), "succeeded")
    assert len(mailbox.of(id_of(record))) == 1


def test_a_repeated_redelivery_is_sent_once(working: Pipeline, worker: Child, mailbox: Mailbox) -> None:
    """What a scheduler repeats after a crash dies there too; another attempt of the same delivery does not."""
    assert worker.is_running
    target = TargetName("endpoint", mailbox.id)
    second = redelivery_record(mailbox.event_type, target)
    third = with_header(second, "outbox-attempt", b"3")
    produce(working.kafka, [second, second, third, third, second])
    working.attempts.wait_for(id_of(second), "succeeded", "succeeded")
    last = redelivery_record(mailbox.event_type, target)
    produce(working.kafka, [last])
    mailbox.wait_for_events([id_of(last)])
    assert len(mailbox.of(id_of(second))) == 2
    assert [turn["attempt"] for turn in working.attempts.to_the_end().of(id_of(second))] == [2, 3]


def test_a_retry_for_an_unknown_handler_is_a_dead_letter(working: Pipeline, worker: Child) -> None:
    """It may have been renamed: an operator redrives it."""
    assert worker.is_running
    record = redelivery_record("handled.well", TargetName("handler", "gone"))
    produce(working.kafka, [record])
    [letter] = working.dead_letters.wait_for_events([id_of(record)])
    assert letter.headers["outbox-error-code"] == "HANDLER_NOT_REGISTERED"
    assert letter.headers["outbox-target"] == "handler:gone"


def test_a_retry_for_an_unknown_endpoint_is_cancelled(working: Pipeline, worker: Child) -> None:
    """CASES 2: it was deleted, so nothing is left to do, and nothing to bury."""
    assert worker.is_running
    record = redelivery_record("some.type", TargetName("endpoint", "ep_gone"))
    produce(working.kafka, [record])
    working.attempts.wait_for(id_of(record), "cancelled")
    assert id_of(record) not in {letter.event_id for letter in working.dead_letters.to_the_end()}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("outbox-target", None),
        ("outbox-target", b"queue:1"),
        ("outbox-attempt", b"0"),
        ("outbox-attempt", b"9" * 40),
        ("outbox-origin", b"here"),
        ("outbox-first-failed-at", b"1e3"),
    ],
)
def test_an_undecodable_retry_is_a_dead_letter(
    working: Pipeline, worker: Child, mailbox: Mailbox, name: str, value: bytes | None
) -> None:
    """With its bytes; the partition moves on."""
    assert worker.is_running
    target = TargetName("endpoint", mailbox.id)
    record = with_header(redelivery_record(mailbox.event_type, target), name, value)
    good = redelivery_record(mailbox.event_type, target)
    produce(working.kafka, [record, good])
    [letter] = working.dead_letters.wait_for_events([id_of(record)])
    assert (letter.headers["outbox-error-code"], letter.value) == ("EVENT_MALFORMED", record.value)
    mailbox.wait_for_events([id_of(good)])


def test_an_unreadable_endpoint_is_passed_over(working: Pipeline, worker: Child) -> None:
    """The worker says which, as it starts and while it runs, keeps the others as they are, and hears of the next."""
    produce(working.kafka, UNREADABLE_ENDPOINTS)
    later = working.mailbox(respond(204))
    working.wait_until_known(later)
    said = [line for line in worker.of("endpoint_unreadable") if line["endpoint"] == BROKEN_ENDPOINT]
    assert len(said) == 2 * len(UNREADABLE_ENDPOINTS)
    produce(working.kafka, [replace(UNREADABLE_ENDPOINTS[0], value=None)])
