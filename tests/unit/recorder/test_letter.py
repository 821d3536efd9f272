"""A dead letter as the recorder reads it: every record is a row, and only what can be read stands in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.record import OutgoingRecord
from connectors.postgres.dead_letter_id import dead_letter_id
from connectors.postgres.delivery_id import created_at_of
from streams.recorder.batch import Place
from streams.recorder.letter import read_letter
from streams.records.outcome import ErrorCode
from streams.records.target import TargetName
from tests.support.dead_letters import DIED_AT_MS, incoming, letter_record, unwanted_record
from tests.support.deliveries import NOW_MS, a_delivery, an_event, any_delivery


def with_header(record: OutgoingRecord, name: str, value: bytes | None) -> OutgoingRecord:
    others = [(known, kept) for known, kept in record.headers if known != name]
    return replace(record, headers=others if value is None else [*others, (name, value)])


def test_a_dead_letter_of_a_delivery_says_all_of_it() -> None:
    """Place, times, code, the last error, the attempts made, and in which replay it died; never the payload."""
    delivery = a_delivery(attempt=4, first_failed_at_ms=NOW_MS, replay_id="r1")
    row = read_letter(incoming(letter_record(delivery), place=Place(5, 99)))
    assert row._asdict() == {
        "died_at": datetime.fromtimestamp(DIED_AT_MS / 1000, UTC),
        "id": str(dead_letter_id(died_at_ms=DIED_AT_MS, partition=5, offset=99)),
        "place_partition": 5,
        "place_offset": 99,
        "letter_class": "undelivered",
        "code": "ENDPOINT_REJECTED",
        "error": "answered 404",
        "event_id": str(an_event().id),
        "event_type": "order.created",
        "target": "endpoint:ep_1",
        "attempts": 4,
        "origin": "outbox.events/3/1000",
        "created_at": datetime(2026, 3, 1, 12, 30, 0, 123_000, tzinfo=UTC),
        "first_failed_at": datetime.fromtimestamp(NOW_MS / 1000, UTC),
        "died_in_replay_id": "r1",
    }


def test_an_event_that_nobody_wanted_has_no_target_and_no_attempts() -> None:
    """It is no poison: it can be read, and somebody may want it later."""
    row = read_letter(incoming(unwanted_record()))
    assert (row.letter_class, row.code) == ("undelivered", ErrorCode.HANDLER_NOT_REGISTERED)
    assert (row.target, row.attempts, row.first_failed_at) == (None, 0, None)
    assert row.event_id is not None


def test_cases_17_a_customers_refusal_is_no_poison() -> None:
    """CASES 17: what a target answered, and what can't be read, are two classes, whoever buried them."""
    refused = read_letter(incoming(letter_record(code=ErrorCode.ENDPOINT_REJECTED)))
    spent = read_letter(incoming(letter_record(code=ErrorCode.ENDPOINT_EXHAUSTED)))
    handled = a_delivery(target=TargetName("handler", "bill"))
    raised = read_letter(incoming(letter_record(handled, code=ErrorCode.HANDLER_PERMANENT_FAILURE)))
    malformed = read_letter(incoming(letter_record(code=ErrorCode.EVENT_MALFORMED)))
    assert [one.letter_class for one in (refused, spent, raised)] == ["undelivered"] * 3
    assert malformed.letter_class == "poison"


BROKEN: dict[str, tuple[Callable[[OutgoingRecord], OutgoingRecord], str]] = {
    "no id": (lambda record: with_header(record, "id", None), "event_id"),
    "no UUID": (lambda record: with_header(record, "id", b"42"), "event_id"),
    "no type": (lambda record: with_header(record, "type", None), "event_type"),
    "type in no UTF-8": (lambda record: with_header(record, "type", b"\xff"), "event_type"),
    "no time": (lambda record: with_header(record, "created-at", b"yesterday"), "created_at"),
    "unknown kind of target": (lambda record: with_header(record, "outbox-target", b"queue:x"), "target"),
    "no origin": (lambda record: with_header(record, "outbox-origin", None), "origin"),
    "odd first failure": (
        lambda record: with_header(record, "outbox-first-failed-at", b"-1"),
        "first_failed_at",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_what_cannot_be_read_is_left_out_and_makes_it_poison(how: str) -> None:
    """The rest of the row is there all the same, whatever the code says."""
    breaks, column = BROKEN[how]
    row = read_letter(incoming(breaks(letter_record())))
    assert row.letter_class == "poison"
    assert getattr(row, column) is None
    assert row.code == ErrorCode.ENDPOINT_REJECTED
    assert sum(value is None for value in row) <= 2


def test_a_record_that_no_worker_wrote_is_a_row() -> None:
    """Without a header, a key or a value: poison at its place, with a word about what is missing."""
    row = read_letter(incoming(OutgoingRecord(topic="x", key=None, value=None, headers=[])))
    assert (row.letter_class, row.code, row.place_partition, row.place_offset) == (
        "poison",
        ErrorCode.EVENT_MALFORMED,
        3,
        17,
    )
    assert row.error == "header id is missing"


@given(delivery=any_delivery, code=st.sampled_from(["ENDPOINT_GONE", "HANDLER_TEMPORARY_FAILURE"]))
def test_what_a_worker_buries_is_read_back(delivery: object, code: str) -> None:
    """Any delivery: its event, target and origin, but for names that no index would hold."""
    assert isinstance(delivery, type(a_delivery()))
    row = read_letter(incoming(letter_record(delivery, code=code)))
    assert (row.code, row.event_id) == (code, str(delivery.event.id))
    assert row.letter_class == "undelivered"
    assert row.target in {str(delivery.target), None}
    assert row.attempts == delivery.attempt


@given(
    died_at_ms=st.integers(0, 2**47),
    partition=st.integers(0, 2**14 - 1),
    offset=st.integers(0, 2**60 - 1),
    other=st.tuples(st.integers(0, 2**47), st.integers(0, 2**14 - 1), st.integers(0, 2**60 - 1)),
)
def test_ids_stand_in_the_order_of_time_and_place(
    died_at_ms: int, partition: int, offset: int, other: tuple[int, int, int]
) -> None:
    """One place has one id and two have two, sorted as they are; the id says when it died."""
    mine = dead_letter_id(died_at_ms=died_at_ms, partition=partition, offset=offset)
    others = dead_letter_id(died_at_ms=other[0], partition=other[1], offset=other[2])
    assert (mine < others) == ((died_at_ms, partition, offset) < other)
    assert (mine == others) == ((died_at_ms, partition, offset) == other)
    assert (mine.version, mine.variant) == (8, "specified in RFC 4122")
    if died_at_ms < 253_402_214_400_000:
        assert created_at_of(mine) is not None
        assert created_at_of(mine) == created_at_of(UUID(int=mine.int))


@pytest.mark.parametrize(("partition", "offset"), [(2**14, 0), (-1, 0), (0, 2**60), (0, -1)])
def test_what_is_no_place_has_no_id(partition: int, offset: int) -> None:
    """Rather than the id of another place."""
    with pytest.raises(ValueError, match="no place"):
        dead_letter_id(died_at_ms=1, partition=partition, offset=offset)
