"""A producer whose Kafka is a list, and which acknowledges when the test says so.

Keeps the contract of `connectors.kafka.loop_producer.LoopProducer`: tests/contract/test_producer.py runs on both.
"""

import asyncio
from collections.abc import Callable, Sequence

from connectors.kafka.record import OutgoingRecord

__all__ = ["FakeProducer", "Group"]


class Group:
    """Records that were produced together, and what waits for all of them."""

    def __init__(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        self.records = list(records)
        self.unacked = list(records)
        self.on_acked = on_acked

    @property
    def topics(self) -> list[str]:
        return [record.topic for record in self.records]


class FakeProducer:
    """Acknowledges soon, or, while `holding`, record by record as the test says; refuses while `refusing` says so."""

    def __init__(
        self, *, holding: bool = False, refusing: Callable[[OutgoingRecord], bool] | None = None
    ) -> None:
        self.holding = holding
        self.refusing = refusing or (lambda _: False)
        self.groups: list[Group] = []
        self.waiting: list[Group] = []
        self.stored: list[OutgoingRecord] = []
        self.closed = False
        self._changed = asyncio.Event()

    @property
    def outstanding(self) -> int:
        return sum(len(group.unacked) for group in self.waiting)

    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        group = Group(records, on_acked)
        self.groups.append(group)
        self.waiting.append(group)
        self._changed.set()
        self._answer_soon()

    def ack(self, group: Group | None = None) -> None:
        """Acknowledge all that is left of a group; by default, the one that waits longest."""
        group = self.waiting[0] if group is None else group
        for record in list(group.unacked):
            self.ack_record(group, record)

    def ack_all(self) -> None:
        for group in list(self.waiting):
            self.ack(group)

    def ack_record(self, group: Group, record: OutgoingRecord) -> None:
        group.unacked.remove(record)
        self.stored.append(record)
        if not group.unacked:
            self.waiting.remove(group)
            group.on_acked()

    async def produced(self, count: int) -> None:
        """Wait until so many groups were produced."""
        while len(self.groups) < count:
            self._changed.clear()
            await self._changed.wait()

    async def flush(self, *, timeout_s: float) -> bool:
        """Wait until nothing is outstanding; False if the time ran out first."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_s
        while self.outstanding and loop.time() < deadline_s:
            self._answer_soon()
            await asyncio.sleep(0.001)
        return not self.outstanding

    def close(self) -> None:
        self.closed = True

    def _answer_soon(self) -> None:
        asyncio.get_running_loop().call_soon(self._answer)

    def _answer(self) -> None:
        if self.holding or self.closed:
            return
        for group in list(self.waiting):
            for record in [record for record in group.unacked if not self.refusing(record)]:
                self.ack_record(group, record)
