"""Kafka as the workers see it, in memory: events, redeliveries, what was written of them, and the group's commits."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

import orjson

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit
from streams.commit.ledgers import Partition
from streams.commit.metadata import decode
from streams.records.delivery import Delivery
from streams.records.wire import decode_delivery, header_map
from tests.support.dispatch_bench import Record, event_record

__all__ = ["EventLog", "Identity", "Place", "identity_of"]

#: A record's place: its partition and offset.
Place = tuple[Partition, int]
#: One attempt to be made: event, target, attempt, deferrals.
Identity = tuple[str, str, int, int]


@dataclass
class EventLog:
    """Two partitions of either topic; every event is for all of the targets."""

    targets: list[str]
    numbers: range = range(2)
    records: dict[Partition, list[Record]] = field(default_factory=dict)
    committed: dict[Partition, Commit] = field(default_factory=dict)
    #: Parked deliveries, in the order in which Kafka got them.
    parked: list[OutgoingRecord] = field(default_factory=list)
    redelivered: int = 0
    _events: int = 0
    _identities: dict[Place, frozenset[Identity]] = field(default_factory=dict)
    #: How far each (event, target) has come: attempts and deferrals of what is parked, or infinitely far.
    _reached: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def partitions(self) -> list[Partition]:
        return [
            (topic, number) for topic in ("outbox.events", "outbox.redelivery") for number in self.numbers
        ]

    def end(self, partition: Partition) -> int:
        records = self.records.get(partition)
        return records[-1].offset + 1 if records else 0

    # Records come in.

    def append_event(self, key: int, *, hole: int) -> None:
        self._events += 1
        self._append(event_record(self._events, aggregate_id=str(key)), key % len(self.numbers), hole=hole)

    def append_again(self, partition: Partition, index: int) -> None:
        """Debezium after a restart, or the scheduler: the same record at a new offset."""
        records = self.records.get(partition)
        if records:
            self._append(records[index % len(records)], partition[1])

    def redeliver(self) -> None:
        """What the scheduler does, in the order of parking."""
        if self.redelivered < len(self.parked):
            moved = self.parked[self.redelivered]
            self.redelivered += 1
            record = Record(offset=0, key=moved.key, value=moved.value, headers=moved.headers)
            number = _delivery(moved).origin.partition
            self._append(replace(record, topic="outbox.redelivery"), number)

    def _append(self, record: Record, number: int, *, hole: int = 0) -> None:
        partition = record.topic, number
        offset = self.end(partition) + hole
        placed = replace(record, partition=number, offset=offset)
        self.records.setdefault(partition, []).append(placed)
        if record.topic == "outbox.events":
            event_id = header_map(record.headers)["id"].decode()
            identities = [(event_id, target, 1, 0) for target in self.targets]
        else:
            identities = [identity_of(_delivery(record))]
        self._identities[partition, offset] = frozenset(identities)

    # What Kafka has of them.

    def identities(self, place: Place) -> frozenset[Identity]:
        return self._identities[place]

    def places(self) -> Iterable[Place]:
        return self._identities

    def store(self, records: Iterable[OutgoingRecord]) -> None:
        """Kafka has these."""
        for record in records:
            if record.topic == "outbox.attempts":
                said = orjson.loads(record.value or b"")
                if said["next"] == "done":
                    self._reached[said["event_id"], said["target"]] = inf
                continue
            event_id, target, attempt, deferrals = identity_of(_delivery(record))
            steps: float = attempt + deferrals
            if record.topic == "outbox.dead-letter":
                steps = inf
            else:
                self.parked.append(record)
            before = self._reached.get((event_id, target), 0)
            self._reached[event_id, target] = max(before, steps)

    def answered(self, place: Place) -> bool:
        """Has Kafka what came of each delivery of this record: done, parked for a later attempt, or a dead letter?"""
        return all(
            self._reached.get((event_id, target), 0) > attempt + deferrals
            for event_id, target, attempt, deferrals in self._identities[place]
        )

    def finished(self) -> bool:
        """Is every delivery done, or a dead letter?"""
        asked = {identity[:2] for place in self._identities for identity in self._identities[place]}
        return all(self._reached.get(delivery) == inf for delivery in asked)

    def skipped(self) -> set[Place]:
        """What the next owners of the partitions would not read."""
        found = set()
        for partition, commit in self.committed.items():
            runs = [(0, commit.offset), *decode(commit.offset, commit.metadata)]
            found |= {
                (partition, record.offset)
                for record in self.records.get(partition, [])
                if any(first <= record.offset < end for first, end in runs)
            }
        return found


def identity_of(delivery: Delivery) -> Identity:
    return str(delivery.event.id), str(delivery.target), delivery.attempt, delivery.deferrals


def _delivery(record: Record | OutgoingRecord) -> Delivery:
    return decode_delivery(header_map(record.headers), key=record.key, value=record.value)
