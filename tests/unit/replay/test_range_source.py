"""What a range selects, for whom, and where it goes on; on events in memory, as records and as rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres.stored_replay import Replay
from outbox.event import Event
from outbox.event_filter import EventFilter
from outbox.payload import MAX_PAYLOAD_BYTES
from streams.errors import ReplayRefused
from streams.records.delivery import Delivery
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.replay.event_range import surely_before
from streams.replay.outlet import SentKey, sent_key
from streams.replay.range_count import count_range
from streams.replay.range_source import RangeSource
from streams.replay.source import NotYet, Start
from tests.support.deliveries import an_event
from tests.unit.replay.range_world import BILLING, Ports, Rows, a_row, selection
from tests.unit.replay.replayed import HOUR, NOW, TARGET, a_replay, events, record
from tests.unit.replay.stepped_world import World, killed_twice_at_every_step
from tests.unit.webhook.records import endpoint

MOMENT = timedelta(microseconds=1)


def read_all(source: RangeSource, *, most: int = 100) -> list[Delivery]:
    """Plan, open, and read to the end."""
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start, kind="range"))
    made: list[Delivery] = []
    count = 0
    while (batch := source.read(most)) is not None:
        count += batch.read
        assert batch.candidates is not None
        assert len(batch.deliveries) <= batch.candidates
        made += [one for one in source.still_due(batch.deliveries) if isinstance(one, Delivery)]
    assert count == start.to_read
    return made


def ids(made: list[Delivery], target: TargetName) -> list[int]:
    return [one.event.id.int for one in made if one.target == target]


def test_what_is_given_must_hold_and_of_a_list_any_one_will_do() -> None:
    """[from, to): the first moment is in it, the last is not. Types as endpoints have them, aggregates, ids."""
    begin, end = NOW - HOUR, NOW
    inside = an_event(id=UUID(int=1), created_at=begin, aggregate_id="42")
    others = [
        replace(inside, id=UUID(int=2), created_at=begin - MOMENT),
        replace(inside, id=UUID(int=3), created_at=end),
        replace(inside, id=UUID(int=4), created_at=end - MOMENT, aggregate_id="43"),
        replace(inside, id=UUID(int=5), type="user.left"),
        replace(inside, id=UUID(int=6), type=TEST_EVENT_TYPE),
        replace(inside, id=UUID(int=7), type="order"),
    ]
    for fields, wanted in (
        ({}, [1, 4, 5, 7]),
        ({"types": (EventFilter("order.*"),)}, [1, 4]),
        ({"types": (EventFilter("order"), EventFilter("user.left"))}, [5, 7]),
        ({"aggregates": ("order/42", "order/44")}, [1, 5, 7]),
        ({"ids": (UUID(int=4), UUID(int=5), UUID(int=2))}, [4, 5]),
        ({"ids": (UUID(int=4), UUID(int=5)), "aggregates": ("order/42",)}, [5]),
    ):
        ports = Ports(selection(**fields), [inside, *others])
        assert ids(read_all(ports.source()), BILLING) == wanted


def test_an_endpoint_gets_what_it_wants_and_a_handler_what_was_named() -> None:
    """Garbage is nobody's. Each delivery is a first attempt, with the replay's id, from where the event was read."""
    garbled = record(an_event(), 1)
    garbled.headers[:] = [("id", b"no uuid")]
    wanted, other = events(1)[0], replace(events(2)[1], type="user.left")
    made = read_all(Ports(selection(), [wanted, garbled, replace(other)]).source())
    assert (ids(made, TARGET), ids(made, BILLING)) == ([1], [1, 2])
    for one in made:
        assert (one.attempt, one.deferrals, one.replay_id) == (
            1,
            0,
            a_replay(Start(begins={}, ends={}, to_read=0)).id,
        )
        assert one.origin.offset == (0 if one.event.id == wanted.id else 2)


@given(number=st.integers(0, 25), most=st.integers(1, 9), as_rows=st.booleans(), page=st.integers(1, 7))
def test_whoever_goes_on_from_a_batch_repeats_and_skips_nothing(
    number: int, most: int, page: int, *, as_rows: bool
) -> None:
    """Read by others, each of whom goes on where a batch of the last one ended: each event once, in order."""
    rows = Rows([a_row(event) for event in events(number)], page=page) if as_rows else None
    ports = Ports(selection(), events(number), rows=rows)
    start = ports.source().plan()
    assert isinstance(start, Start)
    replay = a_replay(start, kind="range")
    read: list[int] = []
    while True:
        source = ports.source()
        source.open(replay)
        batch = source.read(most)
        if batch is None or not batch.read:
            break
        assert len(batch.deliveries) <= max(most, 2)
        read += [one.event.id.int for one in batch.deliveries]
        replay = replace(replay, next_offsets=batch.next_offsets)
    assert read == [number for event in events(number) for number in [event.id.int] * 2]


def test_rows_are_read_in_the_order_of_their_times() -> None:
    """However they lie in the table. Rows of the channel of endpoints are read, and are nobody's events."""
    made = [
        an_event(id=UUID(int=9 - minutes), created_at=NOW - timedelta(minutes=minutes))
        for minutes in range(1, 8)
    ]
    told = a_row(
        replace(made[0], id=UUID(int=99), created_at=NOW - timedelta(minutes=3, seconds=1)),
        channel="endpoints",
    )
    source = Ports(selection(), [], rows=Rows([*map(a_row, made), told])).source()
    assert ids(read_all(source), BILLING) == [2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("as_rows", [False, True])
def test_a_batch_of_large_events_ends_at_8_mib(as_rows: object) -> None:
    """Whatever number would be allowed, and however many targets. None is left out for that."""
    large = [replace(event, payload=b" " * MAX_PAYLOAD_BYTES) for event in events(30)]
    ports = Ports(selection(), large, rows=Rows([*map(a_row, large)]) if as_rows else None)
    source = ports.source()
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start, kind="range"))
    sizes = []
    while (batch := source.read(500)) is not None:
        sizes.append(sum({one.event.id: len(one.event.payload) for one in batch.deliveries}.values()))
    assert max(sizes) <= 8 * 1024 * 1024
    assert sum(sizes) == 30 * MAX_PAYLOAD_BYTES


def test_it_waits_until_the_endpoints_last_changes_are_known() -> None:
    """A worker that does not know an endpoint yet takes it to be removed, and cancels what is for it."""
    ports = Ports(selection(), events(3))
    ports.known = False
    source = ports.source()
    waiting = source.plan()
    assert isinstance(waiting, NotYet)
    assert "connector" in waiting.reason
    ports.known = True
    assert isinstance(source.plan(), Start)


def test_an_endpoint_that_is_disabled_meanwhile_ends_it() -> None:
    """Its deliveries would only be put off by the workers, all of them."""
    ports = Ports(selection(), events(6))
    source = ports.source()
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start, kind="range"))
    assert source.read(1) is not None
    ports.found_endpoint = ReplayRefused("Endpoint ep_1 is disabled")
    with pytest.raises(ReplayRefused, match="disabled"):
        source.read(1)


def test_it_says_what_was_pruned() -> None:
    """Where the oldest row that is there is younger than the begin, and where there is none; else nothing."""
    old = an_event(created_at=NOW - 2 * HOUR)
    inside = an_event(id=UUID(int=1), created_at=NOW - timedelta(minutes=5))
    for rows, said in (([old, inside], None), ([inside], "2026-11-30T11:55:00Z"), ([], "no rows")):
        start = Ports(selection(), [], rows=Rows([*map(a_row, rows)])).source().plan()
        assert isinstance(start, Start)
        assert said in start.warning if said and start.warning else start.warning is said


def test_what_is_counted_is_what_is_sent() -> None:
    """Per type and target, by the same rules: what somebody agrees to is what happens."""
    mixed = [
        replace(event, type=("order.created", "user.left", "order.paid")[index % 3])
        for index, event in enumerate(events(9))
    ]
    ports = Ports(selection(), mixed)
    seen: list[tuple[int, int]] = []
    found = count_range(ports.chosen, ports, progress=lambda read, of: seen.append((read, of)))
    sent = Counter((one.event.type, one.target) for one in read_all(ports.source()))
    assert found.deliveries == sent
    assert (found.read, found.matching, found.number) == (9, 9, 15)
    assert seen[-1] == (9, 9)


FIRST = datetime.min.replace(tzinfo=UTC)


def test_a_range_may_begin_with_the_first_moment_there_is() -> None:
    """As who means all of them writes it: before it there is none to begin with."""
    some = events(3)
    ports = Ports(selection(begin=FIRST), some, rows=Rows(list(map(a_row, some))))
    assert len(ids(read_all(ports.source()), BILLING)) == 3
    assert surely_before(FIRST + MOMENT) == FIRST


def test_an_event_that_debezium_repeated_is_sent_once_however_many_targets_there_are() -> None:
    """Of deliveries so many are remembered: with twenty targets, a repetition of 2,500 events would be forgotten."""
    some = events(3)
    assert ids(read_all(Ports(selection(), [*some, *some]).source()), BILLING) == [1, 2, 3]


class RangeWorld(World):
    """A range of eight events for two targets, of which each effect can be the last."""

    def __init__(self, *, as_rows: bool) -> None:
        super().__init__(0)
        self.events = [
            replace(event, type="order.created" if index % 3 else "user.left")
            for index, event in enumerate(events(8))
        ]
        self._rows = Rows([*map(a_row, self.events)]) if as_rows else None
        self.replay: Replay = replace(self.replay, kind="range", rate_per_s=5.0)

    def source(self) -> RangeSource:
        return Ports(selection(), self.events, at_step=self.at_step, rows=self._rows).source()

    def wanted(self) -> Counter[SentKey]:
        return Counter(
            (event.id, target)
            for event in self.events
            for target in (TARGET, BILLING)
            if target is BILLING or _is_wanted(event)
        )


def _is_wanted(event: Event) -> bool:
    return endpoint(event_types=("order.*",)).wants(event)


@pytest.mark.parametrize("as_rows", [False, True], ids=["kafka", "postgres"])
def test_killed_at_any_step_each_target_has_each_of_its_events_once(*, as_rows: bool) -> None:
    """Before every single effect in turn, and its successor before every later one: no event twice, none left out."""
    for world in killed_twice_at_every_step(lambda: RangeWorld(as_rows=as_rows)):
        assert Counter(map(sent_key, world.redelivery)) == world.wanted()
        assert world.replay.status == "done"
        assert world.replay.sent == len(world.redelivery)
        assert world.replay.events_read == 8
        assert world.replay.sent + world.replay.skipped == 8 * 2
