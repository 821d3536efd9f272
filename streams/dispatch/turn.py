"""A turn: one delivery's stay in the dispatcher, from its acceptance to Kafka's acknowledgement of what came of it.

The working records behind the pure ones: mutable, compared by identity, never on the wire.
"""

import asyncio

from streams.commit.ledger import PartitionLedger
from streams.dispatch.circuit import Begun
from streams.dispatch.target import Target
from streams.records.delivery import Delivery

__all__ = ["Flight", "Turn"]


class Flight:
    """One received record and how many of its turns are still open. Its offset settles with the last of them."""

    __slots__ = ("ledger", "offset", "open_turns", "started")

    def __init__(self, ledger: PartitionLedger, offset: int) -> None:
        self.ledger = ledger
        self.offset = offset
        self.open_turns = 0
        #: Has any of its turns begun an attempt? Then a drain sees it through; otherwise the next owner
        #: starts it afresh.
        self.started = False


class Turn:
    """One delivery in the dispatcher."""

    __slots__ = ("begun", "delivery", "flight", "key", "target", "task")

    def __init__(self, delivery: Delivery, target: Target, flight: Flight) -> None:
        self.delivery = delivery
        self.target = target
        self.flight = flight
        #: Events of one aggregate go to one target one at a time.
        self.key = (delivery.event.aggregate_type, delivery.event.aggregate_id)
        #: What its target's gate said when its attempt began.
        self.begun: Begun | None = None
        self.task: asyncio.Task[None] | None = None
