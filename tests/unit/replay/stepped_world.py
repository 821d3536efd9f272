"""A replay whose every effect can be the last: Postgres and Kafka in memory, and a crash between any two calls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

from connectors.postgres.stored_replay import Replay
from streams.records.delivery import Delivery
from streams.replay.outlet import SentKey, sent_key
from streams.replay.replayer import Replayer
from streams.replay.source import Batch, NotYet, Start, Verdict
from tests.support.deliveries import a_delivery, an_event
from tests.unit.replay.replayed import a_replay

__all__ = [
    "Claim",
    "Killed",
    "Outlet",
    "Source",
    "Step",
    "World",
    "crash_after",
    "is_due",
    "killed_twice_at_every_step",
    "sent",
    "wanted",
]

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
            new_source=lambda _replay, _claim: self.source(),
            new_outlet=lambda: Outlet(self),  # type: ignore[arg-type, return-value]
            pause=self._pause,
            stopping=self.stop.is_set,
            monotonic_s=lambda: self.seconds,
            asks=self.asks,
        )

    def source(self) -> Any:
        return Source(self)

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


_World = TypeVar("_World", bound=World)


def killed_twice_at_every_step(new_world: Callable[[], _World]) -> Iterator[_World]:
    """Worlds in which it was killed before an effect, its successor before another, and the third came to the end.

    For every effect of the first, of which there are many, and every later one of the second.
    """
    first = second = 0
    while True:
        world = new_world()
        world.at_step = crash_after(first)
        try:
            world.execute()
        except Killed:
            pass
        else:
            assert first > 20
            return
        world.at_step = crash_after(second)
        try:
            world.execute()
        except Killed:
            second += 1
        else:
            first, second = first + 1, 0
        world.at_step = lambda _step: None
        world.execute()
        yield world


def crash_after(steps: int) -> Step:
    left = steps

    def at_step(_step: str) -> None:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1

    return at_step
