"""What a recovery selects, leaves out and says; on events and a log in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.delivery_id import delivery_id
from connectors.postgres.stored_replay import NewReplay, Replay
from connectors.webhook.endpoint import Endpoint
from outbox.event import Event
from outbox.payload import MAX_PAYLOAD_BYTES
from streams.errors import ReplayRefused
from streams.records.delivery import Delivery, Origin
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.records.wire import encode_event
from streams.replay.completeness import Completeness
from streams.replay.recovery_source import CLOCKS_DIFFER, RecoverySource
from streams.replay.selection import RecoverySelection
from streams.replay.source import NotYet, Start
from streams.topics import EVENTS
from tests.support.deliveries import an_event
from tests.unit.replay.test_completeness import Kafka
from tests.unit.webhook.records import endpoint

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
TARGET = TargetName("endpoint", "ep_1")


class Range:
    """A reading of records in memory, partition by partition."""

    def __init__(
        self, records: Sequence[ReadRecord], begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> None:
        self._left = [one for one in records if begins[one.partition] <= one.offset < ends[one.partition]]
        self.next_offsets = dict(begins)

    @property
    def done(self) -> bool:
        return not self._left

    def read(self, most: int) -> Sequence[ReadRecord]:
        given, self._left = self._left[:most], self._left[most:]
        for record in given:
            self.next_offsets[record.partition] = record.offset + 1
        return given

    def close(self) -> None:
        """Nothing."""


class World:
    """Ports of a recovery: one partition of events, an endpoint, and a log."""

    def __init__(self, *events: Event | ReadRecord) -> None:
        self.records = [
            replace(one, offset=offset) if isinstance(one, ReadRecord) else record(one, offset)
            for offset, one in enumerate(events)
        ]
        self.known = True
        self.found_endpoint: Endpoint | ReplayRefused = endpoint(event_types=("order.*",))
        self.begins_at = NOW - 30 * 24 * HOUR
        self.log: dict[UUID, Any] = {}
        self.asked_since: datetime | None = None
        self.found: Mapping[int, int] = {0: 0}
        self.first_kept: Mapping[int, int] = {0: 0}

    def endpoint(self) -> Endpoint:
        if isinstance(self.found_endpoint, ReplayRefused):
            raise self.found_endpoint
        return self.found_endpoint

    def change_is_known(self) -> bool:
        return self.known

    def log_begins(self) -> datetime:
        return self.begins_at

    def now(self) -> datetime:
        return NOW

    def offsets_since(self, moment: datetime) -> tuple[Mapping[int, int], Mapping[int, int]]:
        self.asked_since = moment
        return self.found, self.first_kept

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Range:
        return Range(self.records, begins, ends)

    def statuses(self, deliveries: Sequence[tuple[datetime, UUID]]) -> Mapping[UUID, Any]:
        return {identifier: self.log[identifier] for _, identifier in deliveries if identifier in self.log}

    def source(self, *, since: datetime = NOW - HOUR, until: datetime | None = None) -> RecoverySource:
        kafka = Kafka()
        kafka.end[EVENTS] = {0: len(self.records)}
        kafka.commit["outbox-worker", EVENTS] = {0: len(self.records)}
        return RecoverySource(
            RecoverySelection(since=since, until=until),
            target=TARGET,
            ports=self,
            completeness=Completeness(kafka),
        )


def record(event: Event, offset: int = 0) -> ReadRecord:
    headers: list[tuple[str, bytes | str | None]] = [*encode_event(event)]
    return ReadRecord(
        topic=EVENTS,
        partition=0,
        offset=offset,
        key=event.aggregate_id.encode(),
        value=event.payload,
        headers=headers,
    )


def a_replay(start: Start) -> Replay:
    new = NewReplay(kind="recovery", target=str(TARGET), selection={}, rate_per_s=100.0)
    return Replay(
        kind=new.kind,
        target=new.target,
        selection=new.selection,
        rate_per_s=new.rate_per_s,
        id="01900000-0000-7000-8000-000000000000",
        status="running",
        requested_by="tests",
        requested_at=NOW,
        started_at=NOW,
        ended_at=None,
        waits_for=None,
        warning=None,
        error=None,
        events_read=0,
        events_to_read=start.to_read,
        sent=0,
        skipped=0,
        next_offsets=start.begins,
        end_offsets=start.ends,
        sent_offsets={},
    )


def read_all(source: RecoverySource, *, most: int = 100) -> list[UUID]:
    """Plan, open, and read to the end; the events that are still due."""
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start))
    due: list[UUID] = []
    count = 0
    while (batch := source.read(most)) is not None:
        assert len(batch.deliveries) <= most
        count += batch.read
        due += [one.event.id for one in source.still_due(batch.deliveries)]
    assert count == start.to_read
    return due


def events(number: int, **changes: Any) -> list[Event]:
    return [
        an_event(id=UUID(int=index + 1), created_at=NOW - timedelta(minutes=1), **changes)
        for index in range(number)
    ]


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
