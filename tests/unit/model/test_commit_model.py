"""Commits and dispatch together, against a log in memory: whatever happens, nothing is lost, little is repeated.

Real ledgers and real dispatchers; Kafka is `tests.support.event_log`. Workers share two partitions of events and
two of redeliveries, in any shares: they come, drain, crash, or are overtaken while they still run. Every event is for
two targets, which succeed, fail or refuse each for itself, and what is parked comes back as a redelivery.
"""

import asyncio
from collections.abc import Awaitable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import structlog
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from streams.dispatch import dispatcher as dispatcher_module
from streams.dispatch import tenure as tenure_module
from streams.dispatch import watch as watch_module
from streams.records.outcome import ErrorCode, Failed, Outcome, Rejected, Succeeded
from tests.support.dispatch_bench import settled
from tests.support.event_log import EventLog, Place
from tests.support.model_worker import ModelWorker

__all__ = ["CommitMachine"]

TARGETS = ["ep_1", "ep_2"]
OUTCOMES: list[Outcome] = [
    Succeeded(),
    Failed(error="503"),
    Rejected(code=ErrorCode.ENDPOINT_GONE, error="410"),
]
WORKERS = 2
_FATES = st.sampled_from(["arrives", "arrives", "lost", "unanswered"])
_PLANS = st.lists(st.integers(0, WORKERS - 1), min_size=4, max_size=4)


class CommitMachine(RuleBasedStateMachine):
    """What Kafka and a fleet of workers may do to some partitions."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.log = EventLog([f"endpoint:{name}" for name in TARGETS])
        self.generation = 0
        self.all_workers: list[ModelWorker] = []
        self.workers = [self.new_worker() for _ in range(WORKERS)]
        #: Overtaken workers, and how many attempts each had begun by then.
        self.zombies: dict[ModelWorker, int] = {}
        #: What drained workers have attempted: nobody may attempt it again for the same record.
        self.seen_through: set[tuple[Place, str]] = set()
        self.answered: set[Place] = set()
        self.around = ExitStack()

    @initialize(plan=_PLANS)
    def first_assignment(self, plan: list[int]) -> None:
        self.around.enter_context(structlog.testing.capture_logs())
        # Nothing here waits for real time: a sweep is a rule, a pause for the lease is a turn of the loop.
        self.around.enter_context(mock.patch.object(watch_module, "_EVERY_S", 1e6))
        self.around.enter_context(mock.patch.object(tenure_module, "_PAUSE_S", 0))
        self.share_out(plan)

    def run(self, coroutine: Awaitable[Any]) -> None:
        async def whole() -> None:
            await coroutine
            await settled()

        self.runner.run(whole())

    def new_worker(self) -> ModelWorker:
        self.all_workers.append(ModelWorker(self.log, TARGETS))
        return self.all_workers[-1]

    def teardown(self) -> None:
        for worker in self.all_workers:
            worker.stop()
        self.runner.close()
        self.around.close()

    # What the world does.

    @rule(keys=st.lists(st.integers(0, 3), min_size=1, max_size=5), hole=st.sampled_from([0, 0, 3]))
    def append(self, keys: list[int], hole: int) -> None:
        for key in keys:
            self.log.append_event(key, hole=hole)

    @rule(partition=st.integers(0, 3), index=st.integers(0, 5))
    def append_again(self, partition: int, index: int) -> None:
        """Debezium repeats itself after a restart, and a scheduler after a crash."""
        self.log.append_again(self.log.partitions[partition], index)

    @rule(count=st.integers(1, 4))
    def redeliver(self, count: int) -> None:
        for _ in range(count):
            self.log.redeliver()

    @rule()
    def time_passes(self) -> None:
        """Long enough for a target to be slow: what waits for it is parked."""

        async def sweep() -> None:
            for worker in self.workers:
                worker.bench.around.pass_s(2.0)
                worker.bench.dispatcher._watch.look_at_all()

        self.run(sweep())

    # What workers do.

    @rule(count=st.integers(1, 6), again=st.booleans(), of_zombies=st.booleans())
    def take(self, count: int, *, again: bool, of_zombies: bool) -> None:
        """Perhaps Faust has gone back to the committed offset, in the middle of an assignment."""

        async def taken() -> None:
            for worker in self.zombies if of_zombies else self.workers:
                if again:
                    worker.go_back()
                worker.take(count)

        self.run(taken())

    @rule(
        outcome=st.sampled_from(OUTCOMES),
        by=st.integers(0, len(TARGETS) - 1),
        count=st.integers(1, 3),
        of_zombies=st.booleans(),
    )
    def answer(self, outcome: Outcome, by: int, count: int, *, of_zombies: bool) -> None:
        for worker in self.zombies if of_zombies else self.workers:
            worker.answer(outcome, count=count, target=by)
        self.run(settled())

    @rule(first=st.integers(0, 3), count=st.integers(0, 4), fate=_FATES)
    def acknowledge_and_commit(self, first: int, count: int, fate: str) -> None:
        """Acknowledgements in any order; commits that may not arrive, or whose answers may be lost."""
        for worker in [*self.workers, *self.zombies]:
            worker.acknowledge(first, count)
        for worker in self.workers:
            commits = worker.ledgers.commits()
            if fate != "lost":
                self.log.committed |= commits
            if fate == "arrives":
                worker.ledgers.committed(commits)

    @rule(
        keys=st.lists(st.integers(0, 3), max_size=4),
        outcome=st.sampled_from(OUTCOMES),
        by=st.integers(0, len(TARGETS) - 1),
        first=st.integers(0, 3),
        count=st.integers(1, 4),
    )
    def go_on(self, keys: list[int], outcome: Outcome, by: int, first: int, count: int) -> None:
        """Some of everything, so that there is much to lose."""
        for key in keys:
            self.log.append_event(key, hole=0)
        self.redeliver(count)
        self.take(count, again=False, of_zombies=False)
        self.answer(outcome, by, count, of_zombies=False)
        self.acknowledge_and_commit(first, count, "arrives")

    # How partitions change hands.

    @rule(plan=_PLANS, limit_s=st.sampled_from([0.0, 5.0]), reachable=st.sampled_from([True, True, False]))
    def rebalance(self, plan: list[int], *, limit_s: float, reachable: bool) -> None:
        """Every worker drains, commits and gets new partitions; if Kafka is away, nobody hears of what they did."""
        for worker in self.workers:
            self.drain(worker, limit_s=limit_s if reachable else 0.0, reachable=reachable)
        self.share_out(plan)

    @rule(which=st.integers(0, WORKERS - 1), plan=_PLANS, arrived=st.integers(0, 3))
    def crash(self, which: int, plan: list[int], arrived: int) -> None:
        """What was on its way may have arrived, or not; another worker comes, and the others drain."""
        for number, group in enumerate(self.workers[which].bench.producer.waiting):
            self.log.store(group.unacked[: (arrived + number) % (len(group.unacked) + 1)])
        self.replace(which, plan)

    @precondition(lambda self: len(self.zombies) < WORKERS)
    @rule(which=st.integers(0, WORKERS - 1), plan=_PLANS)
    def overtaken(self, which: int, plan: list[int]) -> None:
        """One is frozen, and its partitions are given away. When it goes on it doesn't know, but its lease is over."""
        worker = self.workers[which]
        worker.lease_held = False
        self.zombies[worker] = len(worker.begun())
        self.replace(which, plan)

    def replace(self, which: int, plan: list[int]) -> None:
        self.workers[which] = self.new_worker()
        self.rebalance(plan, limit_s=5.0, reachable=True)

    @precondition(lambda self: self.zombies)
    @rule(which=st.integers(0, WORKERS - 1), limit_s=st.sampled_from([0.0, 5.0]), plan=_PLANS)
    def a_zombie_hears_of_it(self, which: int, limit_s: float, plan: list[int]) -> None:
        """It drains, its commit is refused, and it takes the place of another, who leaves."""
        zombie = next(iter(self.zombies))
        del self.zombies[zombie]
        self.run(self.drained(zombie, limit_s=limit_s))
        zombie.assign([], generation=0)
        self.drain(self.workers[which], limit_s=5.0, reachable=True)
        self.workers[which] = zombie
        self.rebalance(plan, limit_s=5.0, reachable=True)

    def share_out(self, plan: list[int]) -> None:
        self.generation += 1
        for number, worker in enumerate(self.workers):
            mine = [
                partition
                for partition, owner in zip(self.log.partitions, plan, strict=True)
                if owner == number
            ]
            worker.assign(mine, generation=self.generation)

    def drain(self, worker: ModelWorker, *, limit_s: float, reachable: bool) -> None:
        """INV-8, where Kafka is there to acknowledge and to commit."""
        with mock.patch.object(dispatcher_module, "_ACK_LIMIT_S", 3.0 if reachable else 0.0):
            self.run(self.drained(worker, limit_s=limit_s, acknowledged=reachable))
        if reachable:
            self.log.committed |= worker.ledgers.commits()
            self.seen_through |= worker.begun_at()
            assert worker.bench.window.open_turns == 0
        worker.ledgers.revoke()

    async def drained(self, worker: ModelWorker, *, limit_s: float, acknowledged: bool = True) -> None:
        draining = asyncio.ensure_future(worker.bench.dispatcher.drain(limit_s=limit_s))
        while not draining.done():
            if limit_s:
                for target in worker.bench.targets:
                    target.answer(3)
            await asyncio.sleep(0)
            if acknowledged:
                worker.acknowledge_all()
        await draining

    # What always holds.

    @invariant()
    def nothing_is_committed_past_what_is_unsettled(self) -> None:
        """INV-1, INV-2: of what the next owners won't read, Kafka has what came of each of its deliveries.

        Or it is a repetition, settled as one, of a record of the same partition that they do read.
        """
        skipped = self.log.skipped()
        self.answered |= {place for place in skipped - self.answered if self.log.answered(place)}
        doubtful = skipped - self.answered
        if doubtful:
            read = {
                (place[0], self.log.identities(place)) for place in self.log.places() if place not in skipped
            }
            assert all((place[0], self.log.identities(place)) in read for place in doubtful)

    @invariant()
    def no_attempt_is_repeated_without_a_reason(self) -> None:
        """INV-8: not of what was committed, nor of what a drained worker attempted, nor twice by one owner.

        Nor by an owner whose partition stayed with it over rebalances, if it had settled it.

        What may be attempted again (ADR 0001): the repetition of an event that its owner sees for the first time.
        """
        for worker in self.workers:
            begun, begun_at = worker.begun(), worker.begun_at()
            assert len(set(begun)) == len(begun), "attempted twice in one assignment"
            assert not begun_at & self.seen_through, "attempted again after a drain"
            assert not worker.seen_off.keys() & set(begun), (
                "attempted again although it had settled it itself"
            )
            assert not {place for place, _ in begun_at} & worker.skips, (
                "attempted although committed as settled"
            )

    @invariant()
    def a_zombie_begins_nothing(self) -> None:
        for zombie, count in self.zombies.items():
            assert len(zombie.begun()) == count

    @invariant()
    def one_at_a_time_per_key(self) -> None:
        for worker in [*self.workers, *self.zombies]:
            assert not any(target.clashes for target in worker.bench.targets)

    @rule()
    def everything_is_delivered_in_the_end(self) -> None:
        """INV-1: workers that are left alone get through the log and all its retries, and their commits say so."""
        while self.zombies:
            self.a_zombie_hears_of_it(0, 5.0, [0, 1, 1, 0])
        self.run(self.through())
        while self.log.redelivered < len(self.log.parked):
            self.redeliver(len(self.log.parked))
            self.run(self.through())
        assert self.log.finished()
        for worker in self.workers:
            commits = worker.ledgers.commits()
            self.log.committed |= commits
            worker.ledgers.committed(commits)
            assert worker.ledgers.unsettled() == 0
            worker.bench.assert_nothing_leaks()
        for partition in self.log.records:
            assert self.log.committed[partition].offset >= self.log.end(partition)

    async def through(self) -> None:
        for worker in self.workers:
            worker.take(1_000)
            await settled()
            while worker.bench.window.open_turns:
                for number in range(len(TARGETS)):
                    worker.answer(Succeeded(), count=3, target=number)
                await settled()
                worker.acknowledge_all()


TestCommitMachine = CommitMachine.TestCase
TestCommitMachine.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
