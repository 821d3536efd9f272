"""A replayer that is killed at any of its steps, and the next one that takes over: each event once, none left out.

Postgres and Kafka are stand-ins here, so that a crash can be put between any two of their calls; the same is done to
real processes in tests/integration/replay.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import pytest

from connectors.kafka.errors import ClusterUnreachable
from connectors.postgres.stored_replay import Replay
from streams.errors import ReplayRefused
from streams.records.delivery import Delivery
from streams.replay.outlet import SentKey, sent_key
from streams.replay.replayer import Replayer
from streams.replay.source import Batch, NotYet, Start, Verdict
from tests.support.deliveries import a_delivery, an_event
from tests.unit.replay.test_recovery_source import a_replay

Step = Callable[[str], None]


class Killed(BaseException):
    """kill -9: nothing after it happens."""


class World:
    """A replay of so many events, what is stored of it, and what stands on `outbox.redelivery`.

    `at_step` is called before each effect, and may raise: then that one, and all after it, did not happen.
    """

    def __init__(self, number: int) -> None:
        self.deliveries = [
            a_delivery(event=an_event(id=UUID(int=index + 1)), replay_id="r") for index in range(number)
        ]
        self.replay = replace(
            a_replay(Start(begins={}, ends={}, to_read=0)),
            status="waiting",
            started_at=None,
            rate_per_s=3.0,
            events_to_read=None,
        )
        self.redelivery: list[Delivery] = []
        self.at_step: Step = lambda _step: None
        self.seconds = 0.0
        self.acknowledged_after_s = 0.0
        self.stop = threading.Event()
        self.may_begin = True
        self.asks: int | None = None

    def replayer(self) -> Replayer:
        return Replayer(
            new_source=lambda _replay, _claim: Source(self),
            new_outlet=lambda: Outlet(self),  # type: ignore[arg-type, return-value]
            pause=self._pause,
            stopping=self.stop.is_set,
            monotonic_s=lambda: self.seconds,
            asks=self.asks,
        )

    def execute(self) -> str:
        return self.replayer().execute(Claim(self))  # type: ignore[arg-type]

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds


class Claim:
    """A claim whose writes are what a database would have."""

    def __init__(self, world: World) -> None:
        self._world = world

    def replay(self) -> Replay:
        return self._world.replay

    def wait_for(self, reason: str) -> None:
        self._change(waits_for=reason)

    def start(self, *, begins: Any, ends: Any, sent_from: Any, to_read: int, warning: str | None) -> None:
        self._change(
            status="running",
            started_at=self._world.replay.requested_at,
            next_offsets=begins,
            end_offsets=ends,
            sent_offsets=sent_from,
            events_to_read=to_read,
            warning=warning,
        )

    def advance(self, *, read: int, sent: int, skipped: int, next_offsets: Any, sent_from: Any) -> None:
        now = self._world.replay
        self._change(
            events_read=now.events_read + read,
            sent=now.sent + sent,
            skipped=now.skipped + skipped,
            next_offsets=next_offsets,
            sent_offsets=sent_from,
        )

    def end(self, status: Any, *, error: str | None = None, warning: str | None = None) -> None:
        if self._world.replay.is_open:
            self._change(status=status, error=error, warning=warning)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing: a session that ends takes the lock with it."""

    def _change(self, **fields: Any) -> None:
        self._world.at_step("postgres")
        self._world.replay = replace(self._world.replay, **fields)


class Outlet:
    """`outbox.redelivery`, one partition of it. What is sent is there when it is flushed, or a moment before."""

    def __init__(self, world: World) -> None:
        self._world = world

    def send(self, delivery: Delivery) -> None:
        self._world.at_step("send")
        self._world.redelivery.append(delivery)

    def flush(self, timeout_s: float) -> bool:
        self._world.at_step("flush")
        self._world.seconds += min(timeout_s, self._world.acknowledged_after_s)
        return timeout_s >= self._world.acknowledged_after_s

    def ends(self) -> Mapping[int, int]:
        self._world.at_step("ends")
        return {0: len(self._world.redelivery)}

    def sent_since(self, _replay_id: str, since: Mapping[int, int]) -> frozenset[SentKey]:
        self._world.at_step("look")
        return frozenset(map(sent_key, self._world.redelivery[since[0] :]))

    def close(self) -> None:
        """Nothing is left to be dropped."""


class Source:
    """The world's deliveries in order; every third is not due."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._next = 0

    def plan(self) -> Start | NotYet:
        self._world.at_step("plan")
        if not self._world.may_begin:
            return NotYet("the workers have 3 records to settle first")
        count = len(self._world.deliveries)
        return Start(begins={0: 0}, ends={0: count}, to_read=count)

    def open(self, replay: Replay) -> None:
        self._next = replay.next_offsets[0]

    def read(self, most: int) -> Batch | None:
        self._world.at_step("read")
        found = self._world.deliveries[self._next : self._next + most]
        self._next += len(found)
        return Batch(read=len(found), deliveries=found, next_offsets={0: self._next}) if found else None

    def still_due(self, deliveries: Sequence[Any]) -> Sequence[Any]:
        self._world.at_step("log")
        return [one for one in deliveries if is_due(one)]

    def verdict(self, _replay: Replay) -> Verdict:
        return Verdict(status="done")

    def close(self) -> None:
        """Nothing."""


def is_due(delivery: Delivery) -> bool:
    return delivery.event.id.int % 3 != 0


def sent(world: World) -> Counter[int]:
    return Counter(one.event.id.int for one in world.redelivery)


def wanted(world: World) -> Counter[int]:
    return Counter(one.event.id.int for one in world.deliveries if is_due(one))


def crash_after(steps: int) -> Step:
    left = steps

    def at_step(_step: str) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    return at_step


def test_killed_at_any_step_it_is_taken_over_with_each_event_once() -> None:
    """Before every single effect in turn, and its successor before every later one: no event twice, none left out."""
    first = second = 0
    while True:
        world = World(8)
        world.at_step = crash_after(first)
        try:
            world.execute()
        except Killed:
            pass
        else:
            break
        world.at_step = crash_after(second)
        try:
            world.execute()
        except Killed:
            second += 1
        else:
            first, second = first + 1, 0
        world.at_step = lambda _step: None
        world.execute()
        assert sent(world) == wanted(world)
        assert world.replay.status == "done"
        assert world.replay.sent == len(world.redelivery)
        assert world.replay.events_read == world.replay.sent + world.replay.skipped == 8
    assert first > 20


def test_who_takes_over_gives_the_one_before_time_to_find_out() -> None:
    """A replayer that has lost its session alone looks once a second; only then is looked for what it has sent."""
    world = World(8)
    world.at_step = crash_after(20)
    with pytest.raises(Killed):
        world.execute()
    begun_s = world.seconds
    looked_s: list[float] = []

    def look(step: str) -> None:
        if step == "look":
            looked_s.append(world.seconds)

    world.at_step = look
    world.execute()
    assert len(looked_s) == 1
    assert looked_s[0] - begun_s > 1.0


def test_what_is_away_is_told_and_tried_again() -> None:
    """Kafka that gives no answer ends nothing: the reason is shown, and the next execution goes on."""
    world = World(8)

    def away(step: str) -> None:
        if step == "read" and world.redelivery:
            raise ClusterUnreachable("kafka:9092", "timed out")

    world.at_step = away
    assert world.execute() == "again"
    assert world.replay.status == "running"
    assert "timed out" in (world.replay.waits_for or "")
    world.at_step = lambda _step: None
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)


def test_one_that_may_not_begin_yet_is_left_for_later() -> None:
    """Else three of them would hold all threads; and it says what it waits for."""
    world = World(8)
    world.may_begin, world.asks = False, 10
    assert world.execute() == "again"
    assert 4.0 < world.seconds < 6.0
    assert (world.replay.status, world.replay.waits_for) == (
        "waiting",
        "the workers have 3 records to settle first",
    )
    world.may_begin = True
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)


def test_a_refusal_fails_it_with_the_reason() -> None:
    """Nothing more is sent, and nobody tries again."""
    world = World(8)

    def refuse(step: str) -> None:
        if step == "read" and world.redelivery:
            raise ReplayRefused("Endpoint ep_1 is disabled")

    world.at_step = refuse
    assert world.execute() == "ended"
    assert (world.replay.status, world.replay.error) == ("failed", "Endpoint ep_1 is disabled")
    assert world.redelivery


def test_it_keeps_to_its_pace() -> None:
    """So many a second and no more, over batches, whatever they hold."""
    world = World(30)
    world.execute()
    assert world.seconds == pytest.approx((len(world.redelivery) - 1) / 3.0, abs=0.1)


def test_an_event_that_stands_twice_on_its_topic_is_sent_once() -> None:
    """Debezium repeats after a crash what it had not noted down."""
    world = World(8)
    world.deliveries[5:5] = world.deliveries[3:5]
    world.execute()
    assert set(sent(world).values()) == {1}
    assert world.replay.events_read == world.replay.sent + world.replay.skipped == 10


def test_a_stop_is_heeded_within_a_batch_and_what_was_sent_is_counted() -> None:
    """Somebody stops it while a batch waits for its pace: the rest of the batch is not sent."""
    world = World(30)

    def stop(step: str) -> None:
        if step == "send" and len(world.redelivery) == 4:
            world.replay = replace(world.replay, status="stopped")

    world.at_step = stop
    assert world.execute() == "ended"
    assert world.replay.status == "stopped"
    assert world.replay.sent == len(world.redelivery) < 9


def test_a_stop_while_kafka_is_slow_counts_what_is_acknowledged_in_the_end() -> None:
    """It is heard while the batch waits for its acknowledgement."""
    world = World(30)
    world.acknowledged_after_s = 1.5

    def stop(step: str) -> None:
        if step == "flush" and world.redelivery:
            world.replay = replace(world.replay, status="stopped")

    world.at_step = stop
    assert world.execute() == "ended"
    assert world.replay.sent == len(world.redelivery) == 2


def test_our_own_stop_leaves_it_to_others() -> None:
    """The process ends in the middle of a batch: the replay goes on elsewhere, and repeats nothing."""
    world = World(30)

    def stop(step: str) -> None:
        if step == "send" and len(world.redelivery) == 7:
            world.stop.set()

    world.at_step = stop
    assert world.execute() == "interrupted"
    assert world.replay.status == "running"
    world.stop.clear()
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)
