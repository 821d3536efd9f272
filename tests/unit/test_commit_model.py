"""Commits and dispatch together, against a log that is a list: whatever happens, nothing is lost, little is repeated.

Real ledgers and a real dispatcher; Kafka is a list of records and one stored commit. Workers own the one
partition one after the other: they end by a drain, by a crash, or are overtaken while they still run.
"""

import asyncio
from collections.abc import Awaitable

import orjson
import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.ledgers import Ledgers
from streams.commit.metadata import decode
from streams.records.outcome import ErrorCode, Failed, Outcome, Rejected, Succeeded
from streams.records.wire import header_map
from tests.support.dispatch_bench import DispatchBench, Record, event_record, settled

PARTITION = ("outbox.events", 3)
OUTCOMES: list[Outcome] = [
    Succeeded(),
    Failed(error="503"),
    Rejected(code=ErrorCode.ENDPOINT_GONE, error="410"),
]


class Worker:
    """One owner of the partition, from its assignment on."""

    def __init__(self, store: Commit | None, *, generation: int) -> None:
        self.bench = DispatchBench()
        self.bench.target.holding = True
        self.bench.target.concurrency = 3
        self.ledgers = Ledgers()
        self.bench.ledger = PartitionLedger(
            committed=store.offset if store else None,
            committed_metadata=store.metadata if store else "",
            generation=generation,
        )
        self.ledgers.assign({PARTITION: self.bench.ledger})
        self.position = store.offset if store else 0

    def attempted(self) -> set[int]:
        """The offsets whose attempt began here."""
        return {made.origin.offset for made in self.bench.target.begun}


class CommitMachine(RuleBasedStateMachine):
    """What Kafka and a fleet of workers may do to one partition."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.log: list[Record] = []
        self.end = 0
        self.store: Commit | None = None
        self.stored: list[OutgoingRecord] = []
        self.zombies: list[Worker] = []
        self.generation = 0
        #: Offsets that a drained worker has attempted: nobody may attempt them again.
        self.seen_through: set[int] = set()

    @initialize()
    def first_worker(self) -> None:
        self.quiet = structlog.testing.capture_logs()
        self.quiet.__enter__()
        self.run(self.next_owner())

    def run(self, coroutine: Awaitable[None]) -> None:
        async def whole() -> None:
            await coroutine
            await settled()

        self.runner.run(whole())

    async def next_owner(self) -> None:
        self.generation += 1
        self.worker = Worker(self.store, generation=self.generation)

    def teardown(self) -> None:
        self.runner.close()
        self.quiet.__exit__(None, None, None)

    # What the world does.

    @rule(key=st.integers(0, 4), hole=st.sampled_from([0, 0, 0, 1, 3]))
    def append(self, key: int, hole: int) -> None:
        offset = self.end + hole
        self.log.append(event_record(offset, aggregate_id=str(key)))
        self.end = offset + 1

    @precondition(lambda self: self.log)
    @rule(data=st.data())
    def append_again(self, data: st.DataObject) -> None:
        """Debezium repeats itself after a restart: the same event at a new offset."""
        twice = data.draw(st.sampled_from(self.log))
        self.log.append(Record(offset=self.end, key=twice.key, value=twice.value, headers=twice.headers))
        self.end += 1

    @rule(count=st.integers(1, 6))
    def take(self, count: int) -> None:
        self.run(self.taken(count))

    async def taken(self, count: int) -> None:
        """What the agent does."""
        worker, ledger = self.worker, self.worker.bench.ledger
        for record in [record for record in self.log if record.offset >= worker.position][:count]:
            worker.position = record.offset + 1
            if ledger.receive(record.offset):
                worker.bench.dispatcher.take_event(record, ledger)

    @rule(seek=st.booleans())
    def read_again(self, seek: bool) -> None:  # noqa: FBT001 - hypothesis calls it
        """Faust goes back to the committed offset in the middle of an assignment."""
        if seek and self.store is not None:
            self.worker.position = self.store.offset

    @rule(outcome=st.sampled_from(OUTCOMES), count=st.integers(1, 3), of_zombies=st.booleans())
    def answer(self, outcome: Outcome, count: int, *, of_zombies: bool) -> None:
        for worker in self.zombies if of_zombies else [self.worker]:
            worker.bench.target.outcome = outcome
            worker.bench.target.answer(count)
        self.run(settled())

    @rule(data=st.data(), count=st.integers(1, 4))
    def acknowledge(self, data: st.DataObject, count: int) -> None:
        for worker in [self.worker, *self.zombies]:
            for _ in range(min(count, len(worker.bench.producer.waiting))):
                group = data.draw(st.sampled_from(worker.bench.producer.waiting))
                self.stored += group.unacked
                worker.bench.producer.ack(group)

    @rule(arrives=st.booleans(), answered=st.booleans())
    def commit(self, *, arrives: bool, answered: bool) -> None:
        """A commit that may not arrive, or whose answer may be lost."""
        commits = self.worker.ledgers.commits()
        if commits and arrives:
            self.store = commits[PARTITION]
            if answered:
                self.worker.ledgers.committed(commits)

    # How a worker ends.

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """What was on its way may have arrived, or not; nobody hears of it."""
        for group in self.worker.bench.producer.waiting:
            self.stored += group.unacked[: data.draw(st.integers(0, len(group.unacked)))]
        self.run(self.next_owner())

    @rule()
    def overtaken(self) -> None:
        """Its partition goes to somebody else without a drain, and what it had begun goes on."""
        self.worker.ledgers.revoke()
        self.zombies.append(self.worker)
        self.run(self.next_owner())

    @rule(limit_s=st.sampled_from([0.0, 5.0]), answers=st.booleans())
    def drain(self, *, limit_s: float, answers: bool) -> None:
        """INV-8: a rebalance or a stop, with Kafka there to acknowledge and to commit."""
        worker = self.worker
        self.run(self.drained(worker, limit_s=limit_s if answers else 0.0))
        commits = worker.ledgers.commits()
        if commits:
            self.store = commits[PARTITION]
        worker.ledgers.revoke()
        self.seen_through |= worker.attempted()
        assert worker.bench.window.open_turns == 0
        self.run(self.next_owner())

    async def drained(self, worker: Worker, *, limit_s: float) -> None:
        draining = asyncio.ensure_future(worker.bench.dispatcher.drain(limit_s=limit_s))
        while not draining.done():
            if limit_s:
                worker.bench.target.answer(3)
            await asyncio.sleep(0)
            for group in worker.bench.producer.waiting:
                self.stored += group.unacked
            worker.bench.producer.ack_all()
        await draining

    # What always holds.

    def answered_for(self) -> set[int]:
        """The offsets whose delivery Kafka has: as done, as parked, or as a dead letter."""
        done, followed = set(), set()
        for record in self.stored:
            if record.topic == "outbox.attempts":
                attempt = orjson.loads(record.value or b"")
                if attempt["next"] == "done":
                    done.add(attempt["event_id"])
            else:
                followed.add(self.id_of(record))
        return {record.offset for record in self.log if self.id_of(record) in done | followed}

    def id_of(self, record: Record | OutgoingRecord) -> str:
        return header_map(record.headers)["id"].decode()

    @invariant()
    def nothing_is_committed_past_what_is_unsettled(self) -> None:
        """INV-1, INV-2: what the stored commit leaves out of the next owner's reading has its outcome in Kafka.

        Or it is a repetition, settled as one, of an event that the next owner does read.
        """
        if self.store is None:
            return
        settled_runs = [(0, self.store.offset), *decode(self.store.offset, self.store.metadata)]
        skipped = {
            record.offset
            for record in self.log
            if any(first <= record.offset < end for first, end in settled_runs)
        }
        read_again = {self.id_of(record) for record in self.log if record.offset not in skipped}
        left_out = {record.offset for record in self.log if self.id_of(record) not in read_again}
        assert left_out <= self.answered_for()

    @invariant()
    def a_drained_workers_attempts_are_not_repeated(self) -> None:
        """INV-8: not even those that were cut off; they are parked."""
        assert not self.seen_through & self.worker.attempted()

    @invariant()
    def one_at_a_time_per_key(self) -> None:
        assert not self.worker.bench.target.clashes

    @rule()
    def everything_is_delivered_in_the_end(self) -> None:
        """INV-1: a worker that is left alone gets through the log, and its commit says so."""
        self.run(self.through())
        assert {record.offset for record in self.log} <= self.answered_for()
        commits = self.worker.ledgers.commits()
        if commits:
            self.store = commits[PARTITION]
            self.worker.ledgers.committed(commits)
        if self.log:
            assert self.store is not None
            assert self.store.offset >= self.end
        assert self.worker.ledgers.unsettled() == 0
        self.worker.bench.assert_nothing_leaks()

    async def through(self) -> None:
        worker = self.worker
        await self.taken(len(self.log))
        await settled()
        while worker.bench.window.open_turns:
            worker.bench.target.answer(3)
            await settled()
            for group in worker.bench.producer.waiting:
                self.stored += group.unacked
            worker.bench.producer.ack_all()


TestCommitMachine = CommitMachine.TestCase
TestCommitMachine.settings = settings(max_examples=300, stateful_step_count=40)
