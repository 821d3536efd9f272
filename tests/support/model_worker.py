"""A worker of the commit model: real ledgers and a real dispatcher, fed from a log in memory.

Takes what the agents would take, attempts when the test answers, and knows for which record each attempt was begun.
"""

from collections.abc import Iterable

from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.ledgers import Ledgers, Partition
from streams.records.outcome import Outcome
from tests.support.dispatch_bench import DispatchBench, Record
from tests.support.event_log import EventLog, Identity, Place, identity_of
from tests.support.scripted_target import ScriptedTarget

__all__ = ["ModelWorker"]


class ModelWorker:
    """One worker, from one assignment to the next."""

    def __init__(self, log: EventLog, targets: Iterable[str]) -> None:
        self.log = log
        self.lease_held = True
        self.bench = DispatchBench(
            [ScriptedTarget(name, concurrency=2) for name in targets], may_begin=lambda: self.lease_held
        )
        for target in self.bench.targets:
            target.holding = True
        self.ledgers = Ledgers()
        self.first_place: dict[Identity, Place] = {}
        #: The ledgers of this assignment, which stay to be looked at when they are closed.
        self.own: dict[Partition, PartitionLedger] = {}
        #: What it has attempted and settled, of partitions that have stayed with it since: not to be attempted again.
        self.seen_off: dict[Identity, Partition] = {}
        self.assign([], generation=0)

    def assign(self, partitions: Iterable[Partition], *, generation: int) -> None:
        commits = {partition: self.log.committed.get(partition) for partition in partitions}
        self.seen_off = {
            identity: partition
            for identity, partition in (self.seen_off | self.settled()).items()
            if self.goes_on(partition, commits.get(partition))
        }
        self.positions = {partition: commit.offset if commit else 0 for partition, commit in commits.items()}
        self.ledgers.assign(
            {
                partition: PartitionLedger(
                    committed=commit.offset if commit else None,
                    committed_metadata=commit.metadata if commit else "",
                    generation=generation,
                )
                for partition, commit in commits.items()
            }
        )
        self.own = {
            partition: ledger
            for partition in commits
            if (ledger := self.ledgers.get(partition)) is not None  # one that holds nothing is falsy
        }
        self.skips = self.log.skipped()
        self.first_place = {}
        self.lease_held = True
        for target in self.bench.targets:
            target.begun.clear()
        self.bench.dispatcher.resume()

    def take(self, count: int) -> None:
        """What the agents do: so many records of each partition."""
        for partition, position in self.positions.items():
            records = [record for record in self.log.records.get(partition, []) if record.offset >= position]
            for record in records[:count]:
                self.positions[partition] = record.offset + 1
                ledger = self.ledgers.get(partition)
                if ledger is not None and ledger.receive(record.offset):
                    self.taken(partition, record, ledger)

    def taken(self, partition: Partition, record: Record, ledger: PartitionLedger) -> None:
        place = partition, record.offset
        for identity in self.log.identities(place):
            self.first_place.setdefault(identity, place)
        dispatcher = self.bench.dispatcher
        events = record.topic == "outbox.events"
        (dispatcher.take_event if events else dispatcher.take_redelivery)(record, ledger)

    def goes_on(self, partition: Partition, commit: Commit | None) -> bool:
        """Does the partition stay, and has its commit not gone back? Else its log may be another one."""
        before = self.own.get(partition)
        last = None if before is None else before._last_commit
        return last is not None and commit is not None and commit.offset >= last.offset

    def settled(self) -> dict[Identity, Partition]:
        """What was begun in this assignment and is settled by now, and the partition of its record."""
        places = {identity: self.first_place[identity] for identity in self.begun()}
        return {
            identity: partition
            for identity, (partition, offset) in places.items()
            if offset not in self.own[partition]._pending
        }

    def begun(self) -> list[Identity]:
        """The attempts that were begun in this assignment."""
        return [identity_of(made) for target in self.bench.targets for made in target.begun]

    def begun_at(self) -> set[tuple[Place, str]]:
        """Which records they were begun for, and which targets."""
        return {(self.first_place[identity], identity[1]) for identity in self.begun()}

    def answer(self, outcome: Outcome, *, count: int, target: int) -> None:
        self.bench.targets[target].outcome = outcome
        self.bench.targets[target].answer(count)

    def go_back(self) -> None:
        for partition, commit in self.log.committed.items():
            if partition in self.positions:
                self.positions[partition] = commit.offset

    def acknowledge(self, first: int, count: int) -> None:
        """So many groups, beginning with that one."""
        waiting = self.bench.producer.waiting
        for group in [*waiting[first:], *waiting[:first]][:count]:
            self.log.store(group.unacked)
            self.bench.producer.ack(group)

    def stop(self) -> None:
        """Let nothing begin any more, whatever ends."""
        for queue in self.bench.dispatcher._queues.values():
            queue.withdraw(lambda *_: True)

    def acknowledge_all(self) -> None:
        for group in self.bench.producer.waiting:
            self.log.store(group.unacked)
        self.bench.producer.ack_all()
