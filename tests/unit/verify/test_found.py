"""What stands on Kafka: read as a worker reads it, or left out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from confluent_kafka import Message
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.reconciliation import FoundEvent, Period
from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.secret import Secret
from outbox.event import Event
from outbox.event_filter import EventFilter
from streams.records.delivery import Delivery
from streams.records.wire import encode_delivery, encode_event
from streams.verify.expectation import Expectation
from streams.verify.found import found_events, held_deliveries
from tests.support.deliveries import an_event, any_delivery
from tests.support.verified_event import BASE

PERIOD = Period(since=BASE, until=BASE + timedelta(seconds=1))
NOBODY = Expectation((), (), since=BASE, discard_unrouted=False)


def a_message(event: Event, *, offset: int = 7, headers: Any = None) -> Message:
    return Message(
        topic="outbox.events",
        partition=2,
        offset=offset,
        key=event.aggregate_id.encode(),
        value=event.payload,
        headers=[*encode_event(event)] if headers is None else headers,
    )


def found(*messages: Message, committed: int = 7) -> list[FoundEvent]:
    return [*found_events(messages, period=PERIOD, committed={2: committed}, expectation=NOBODY)]


def test_an_event_is_in_flight_from_the_commit_on() -> None:
    """And its time is in whole milliseconds, as the log has it."""
    event = an_event(created_at=BASE + timedelta(microseconds=1_999))
    at = BASE + timedelta(milliseconds=1)
    assert found(a_message(event, offset=6), a_message(event, offset=7)) == [
        (str(event.id), event.type, at, False, False),
        (str(event.id), event.type, at, True, False),
    ]
    assert found(a_message(event), committed=0)[0].in_flight


def test_only_the_period_counts() -> None:
    """Its begin belongs to it, its end does not."""
    ends = [timedelta(microseconds=-1), timedelta(), timedelta(microseconds=999_999), timedelta(seconds=1)]
    events = [an_event(created_at=BASE + after) for after in ends]
    assert [one.created_at for one in found(*map(a_message, events))] == [
        BASE,
        BASE + timedelta(milliseconds=999),
    ]


@given(
    headers=st.lists(
        st.tuples(
            st.sampled_from(["id", "type", "created-at", "headers", "outbox-target"]),
            st.none() | st.binary(max_size=40) | st.just(BASE.isoformat().encode()),
        ),
        max_size=6,
    )
)
def test_what_cannot_be_read_is_left_out(headers: list[tuple[str, bytes | None]]) -> None:
    """Nothing raises: it is a dead letter, and is found among those."""
    message = a_message(an_event(), headers=headers)
    for event in found(message):
        assert "\0" not in event.type
    for held in held_deliveries([message]):
        assert "\0" not in held.target


def test_an_event_that_no_filter_can_judge_is_there_all_the_same() -> None:
    """A worker makes a dead letter of it; until then it is in flight, and no row without a record."""
    endpoint = Endpoint(
        id="ep_a",
        url="https://example.com/hook",
        event_types=(EventFilter("*"),),
        secrets=(Secret.generate(),),
        created_at=BASE,
        payload_filter=PayloadFilter.of({"n": [1]}),
    )
    filtering = Expectation(
        [StoredEndpoint(endpoint=endpoint, updated_at=BASE)], (), since=BASE, discard_unrouted=False
    )
    event = an_event(created_at=BASE)
    headers = [(name, b"{" if name == "headers" else value) for name, value in encode_event(event)]
    malformed = [a_message(event, headers=[*headers, ("headers", b"{")])]
    (found_one,) = found_events(malformed, period=PERIOD, committed={2: 7}, expectation=filtering)
    assert (found_one.id, found_one.in_flight, found_one.unwanted) == (str(event.id), True, False)


@given(delivery=any_delivery)
def test_a_delivery_that_waits_is_known_by_event_target_and_replay(delivery: Delivery) -> None:
    """Whatever stands in it."""
    message = a_message(delivery.event, headers=encode_delivery(delivery))
    (held,) = held_deliveries([message])
    assert held == (str(delivery.event.id), str(delivery.target), delivery.replay_id or "")
