"""What is made of a dead letter when it is redriven: its delivery from the start, or its event for whoever wants it."""

from __future__ import annotations

import pytest
from hypothesis import given

from connectors.kafka.read_record import ReadRecord
from connectors.kafka.record import OutgoingRecord
from streams import topics
from streams.errors import RecordMalformed
from streams.records.delivery import Delivery, Origin, Unrouted
from streams.records.wire import decode_delivery, decode_unrouted, header_map
from streams.replay.letters_source import redriven
from streams.replay.outlet import redelivery_record, sent_key
from tests.support.dead_letters import letter_record, unwanted_record
from tests.support.deliveries import NOW_MS, a_delivery, any_delivery

REPLAY = "01890a5d-ac96-774b-bcce-b302099a8057"


def as_read(record: OutgoingRecord) -> ReadRecord:
    return ReadRecord(
        topic=topics.DEAD_LETTER,
        partition=2,
        offset=9,
        key=record.key,
        value=record.value,
        headers=list(record.headers),
    )


@given(delivery=any_delivery)
def test_a_delivery_begins_anew(delivery: Delivery) -> None:
    """Same event to the byte, same target and origin; attempt 1, no deferrals, no age, and the replay's id (INV-4)."""
    sent = redriven(as_read(letter_record(delivery)), replay_id=REPLAY)
    assert sent == Delivery(
        event=delivery.event, target=delivery.target, origin=delivery.origin, replay_id=REPLAY
    )
    record = redelivery_record(sent)
    assert (record.topic, record.partition) == (topics.REDELIVERY, delivery.origin.partition)
    assert (record.key, record.value) == (delivery.event.aggregate_id.encode(), delivery.event.payload)
    assert decode_delivery(header_map(record.headers), key=record.key, value=record.value) == sent
    assert not {"outbox-error", "outbox-error-code"} & header_map(record.headers).keys()


def test_an_event_that_nobody_wanted_is_routed_again() -> None:
    """It has no target: on the wire neither, and it is known again by its event alone."""
    letter = as_read(unwanted_record())
    sent = redriven(letter, replay_id=REPLAY)
    assert isinstance(sent, Unrouted)
    assert (sent.origin, sent.replay_id) == (Origin(topics.EVENTS, 3, 1_000), REPLAY)
    record = redelivery_record(sent)
    assert record.partition == 3
    assert decode_unrouted(header_map(record.headers), key=record.key, value=record.value) == sent
    assert sent_key(sent) == (sent.event.id, None)


def test_what_was_replayed_before_is_another_replays() -> None:
    """The id of the replay in which it died gives way to the redrive's."""
    sent = redriven(as_read(letter_record(a_delivery(replay_id="r1", attempt=9))), replay_id=REPLAY)
    assert (sent.replay_id, sent_key(sent)[1]) == (REPLAY, a_delivery().target)


@pytest.mark.parametrize("missing", ["id", "type", "created-at", "outbox-origin", "outbox-attempt"])
def test_what_cannot_be_read_is_not_sent(missing: str) -> None:
    """A worker of this version would bury it again."""
    letter = as_read(letter_record(a_delivery(first_failed_at_ms=NOW_MS)))
    letter.headers[:] = [(name, raw) for name, raw in letter.headers if name != missing]
    with pytest.raises(RecordMalformed):
        redriven(letter, replay_id=REPLAY)
