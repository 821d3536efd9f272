"""A dispatcher on a bench: real ledger and dispatcher, scripted targets, a producer that acknowledges on command."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from streams.commit.ledger import PartitionLedger
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.holding import FloodSign, Holding
from streams.dispatch.window import Window
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery
from streams.records.wire import Headers, encode_delivery, encode_event
from tests.support.deliveries import a_delivery, an_event, default_tiers
from tests.support.fake_producer import FakeProducer
from tests.support.manual_surroundings import ManualSurroundings
from tests.support.scripted_target import ScriptedDirectory, ScriptedTarget

__all__ = ["DispatchBench", "Record", "event_record", "redelivery_record", "settled"]


@dataclass
class Record:
    """A record as Faust hands it over."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None
    topic: str = "outbox.events"
    partition: int = 3


def event_record(offset: int, **changes: Any) -> Record:
    """An event's record. Its id follows from the offset, and so does its key, unless they are given."""
    defaults = {"id": a_delivery().event.id.__class__(int=offset + 1), "aggregate_id": str(offset)}
    event = an_event(**{**defaults, **changes})
    return Record(
        offset=offset, key=event.aggregate_id.encode(), value=event.payload, headers=encode_event(event)
    )


def redelivery_record(offset: int, delivery: Delivery) -> Record:
    return Record(
        offset=offset,
        key=delivery.event.aggregate_id.encode(),
        value=delivery.event.payload,
        headers=encode_delivery(delivery),
        topic="outbox.redelivery",
    )


async def settled() -> None:
    """Until every task that can go on without the test has done so."""
    for _ in range(10):
        await asyncio.sleep(0)


class DispatchBench:
    """One dispatcher, one partition's ledger, and what came out."""

    def __init__(
        self,
        targets: Sequence[ScriptedTarget] | None = None,
        *,
        holding: bool = True,
        discard_unrouted: bool = False,
        observe: Callable[[Attempt], None] | None = None,
        may_begin: Callable[[], bool] = lambda: True,
        committed: int = 0,
        flood_share: float = 1.0,
    ) -> None:
        self.target = ScriptedTarget("ep_1")
        self.targets = [self.target] if targets is None else list(targets)
        self.directory = ScriptedDirectory(self.targets)
        self.around = ManualSurroundings()
        self.producer = FakeProducer(holding=holding)
        self.window = Window(1_000)
        self.floods: list[FloodSign] = []
        self.attempts: list[Attempt] = []
        self.dispatcher = Dispatcher(
            directory=self.directory,
            producer=self.producer,
            tiers=default_tiers(),
            window=self.window,
            park_wait_s=1.0,
            discard_unrouted=discard_unrouted,
            observe=observe or self.attempts.append,
            surroundings=self.around,
            may_begin=may_begin,
            holding=Holding(
                share=flood_share,
                window=timedelta(minutes=1),
                longest=timedelta(hours=12),
                known_targets=lambda: len(self.targets),
                tell=self.floods.append,
                tiers=default_tiers(),
                surroundings=self.around,
            ),
        )
        self.ledger = PartitionLedger(committed=committed)

    def take(self, record: Record) -> None:
        """What the agent does with a record."""
        assert self.ledger.receive(record.offset)
        if record.topic == "outbox.redelivery":
            self.dispatcher.take_redelivery(record, self.ledger)
        else:
            self.dispatcher.take_event(record, self.ledger)

    def unsettled(self) -> list[int]:
        return list(self.ledger._pending)

    def outcomes(self) -> list[str]:
        return [type(attempt.outcome).__name__ for attempt in self.attempts]

    async def all_closed(self) -> None:
        """Until no turn is open."""
        while self.window.open_turns:  # noqa: ASYNC110 - the window tells nobody when it is empty
            await asyncio.sleep(0.001)

    def assert_nothing_leaks(self) -> None:
        """Every turn that was opened is closed, no queue is left behind, and no key had two attempts at once."""
        assert not any(target.clashes for target in self.targets)
        assert self.window.open_turns == 0
        assert not self.dispatcher._queues
        assert not self.producer.waiting
