"""What a recovery selects, leaves out and says; on events and a log in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.delivery_id import delivery_id
from outbox.payload import MAX_PAYLOAD_BYTES
from streams.errors import ReplayRefused
from streams.records.delivery import Delivery, Origin
from streams.records.target import TEST_EVENT_TYPE
from streams.replay.event_range import CLOCKS_DIFFER
from streams.replay.source import NotYet, Start
from streams.topics import EVENTS
from tests.support.deliveries import an_event
from tests.unit.replay.recovery_world import World, read_all
from tests.unit.replay.replayed import HOUR, NOW, TARGET, a_replay, events, record
from tests.unit.webhook.records import endpoint


def test_it_keeps_what_the_endpoint_wants_and_was_committed_in_the_range() -> None:
    """[since, until): the first moment is in it, the last is not. Test events, other types and garbage are left out."""
    since, until = NOW - HOUR, NOW
    inside = an_event(id=UUID(int=1), created_at=since)
    last = an_event(id=UUID(int=2), created_at=until - timedelta(microseconds=1))
    garbled = record(inside)
    garbled.headers[:] = [("id", b"no uuid")]
    world = World(
        inside,
        an_event(id=UUID(int=3), created_at=since - timedelta(microseconds=1)),
        an_event(id=UUID(int=4), created_at=until),
        an_event(id=UUID(int=5), created_at=since, type="user.left"),
        an_event(id=UUID(int=6), created_at=since, type=TEST_EVENT_TYPE),
        garbled,
        last,
    )
    world.found_endpoint = endpoint(event_types=("order.*", "endpoint.test"))
    assert read_all(world.source(since=since, until=until)) == [inside.id, last.id]


@pytest.mark.parametrize(
    ("status", "is_sent"),
    [
        ("succeeded", False),
        ("pending", False),
        ("retrying", False),
        ("failed", True),
        ("cancelled", True),
        (None, True),
    ],
)
def test_what_succeeded_or_is_under_way_is_left_out(status: str | None, is_sent: object) -> None:
    """By its row in the log; what is not there was never delivered."""
    (event,) = events(1)
    world = World(event)
    created_at_ms = int(event.created_at.timestamp() * 1000)
    identifier = delivery_id(event_id=event.id, target=str(TARGET), created_at_ms=created_at_ms)
    if status is not None:
        world.log[identifier] = status
    assert bool(read_all(world.source())) is is_sent


@given(number=st.integers(0, 40), most=st.integers(1, 7), wanted=st.sets(st.integers(0, 39)))
def test_no_batch_is_larger_than_asked_and_none_leaves_anything_out(
    number: int, most: int, wanted: set[int]
) -> None:
    """Whatever is wanted among it: the batches are the range, in order, and `next_offsets` is exactly what was read."""
    all_of_them = [
        replace(event, type="order.created" if index in wanted else "user.left")
        for index, event in enumerate(events(number))
    ]
    world = World(*all_of_them)
    due = read_all(world.source(), most=most)
    assert due == [event.id for event in all_of_them if event.type == "order.created"]


def test_whoever_goes_on_from_a_batch_repeats_and_skips_nothing() -> None:
    """A second reading, from each batch's `next_offsets`, gives the rest."""
    world = World(*events(20))
    source = world.source()
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start))
    first = source.read(7)
    assert first is not None
    other = world.source()
    other.open(replace(a_replay(start), next_offsets=first.next_offsets))
    second = other.read(100)
    assert second is not None
    assert [one.event.id for one in (*first.deliveries, *second.deliveries)] == [
        UUID(int=number + 1) for number in range(20)
    ]
    assert {one.origin for one in second.deliveries} == {Origin(EVENTS, 0, offset) for offset in range(7, 20)}
    for one in second.deliveries:
        assert one == Delivery(
            event=one.event, target=TARGET, origin=one.origin, replay_id=a_replay(start).id
        )


def test_a_batch_of_large_events_ends_at_8_mib() -> None:
    """500 of the largest would be half a gigabyte in memory. None is left out for that."""
    world = World(*events(30, payload=bytes(MAX_PAYLOAD_BYTES)))
    source = world.source()
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start))
    sizes = []
    while (batch := source.read(500)) is not None:
        assert batch.read == len(batch.deliveries)
        sizes.append(sum(len(one.event.payload) for one in batch.deliveries))
    assert max(sizes) <= 8 * 1024 * 1024
    assert sum(sizes) == 30 * MAX_PAYLOAD_BYTES


def test_it_begins_before_the_time_for_clocks_differ() -> None:
    """Kafka knows when a record was written by Connect's clock, the event by that of Postgres."""
    world = World()
    world.source(since=NOW - HOUR).plan()
    assert world.asked_since == NOW - HOUR - CLOCKS_DIFFER


def test_it_waits_until_the_endpoints_last_change_is_known() -> None:
    """Else an event between the end of what is read and what the workers know would be lost to both."""
    world = World()
    world.known = False
    source = world.source()
    waiting = source.plan()
    assert isinstance(waiting, NotYet)
    assert "connector" in waiting.reason
    world.known = True
    assert isinstance(source.plan(), Start)


def test_an_endpoint_that_is_disabled_meanwhile_ends_it() -> None:
    """Its deliveries would only be put off by the workers, all of them."""
    world = World(*events(3))
    source = world.source()
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start))
    assert source.read(1) is not None
    world.found_endpoint = ReplayRefused("Endpoint ep_1 is disabled")
    with pytest.raises(ReplayRefused, match="disabled"):
        source.read(1)


def test_it_says_what_it_can_not_reach() -> None:
    """Where the log has forgotten, or Kafka has deleted; and nothing where both have all of it."""
    start = World().source().plan()
    assert isinstance(start, Start)
    assert start.warning is None
    forgotten = World(an_event(created_at=NOW - 40 * 24 * HOUR))
    source = forgotten.source(since=datetime(1970, 1, 1, tzinfo=UTC))
    start = source.plan()
    assert isinstance(start, Start)
    assert "OUTBOX_LOG_RETENTION_DAYS" in (start.warning or "")
    assert read_all(source) == []
    cut = World(*events(9))
    cut.found, cut.first_kept = {0: 5}, {0: 5}
    start = cut.source().plan()
    assert isinstance(start, Start)
    assert "OUTBOX_RETENTION_HOURS" in (start.warning or "")
    # It begins behind the first that is kept: all that is older than the range is of no interest.
    cut.found, cut.first_kept = {0: 6}, {0: 5}
    start = cut.source().plan()
    assert isinstance(start, Start)
    assert start.warning is None


def test_an_event_from_the_far_future_is_left_out() -> None:
    """The log takes nothing from beyond the next days, so nobody could say whether it was delivered."""
    world = World(an_event(created_at=NOW + 48 * HOUR))
    assert read_all(world.source()) == []
