"""A model that never fails proves nothing: each rule is broken on purpose here, and its model must find it.

A mutation patches the product, never the model. Chance is fixed, so a mutation is found each time or never.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.recent import Recent
from streams.delay import lanes as lanes_module
from streams.delay.lane import Lane, Waiting
from streams.delay.lanes import Lanes
from streams.delay.scheduler import Scheduler
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.ports import Produces
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.turn import Flight, Turn
from streams.records.outcome import Interrupted, Outcome
from tests.unit.model.test_commit_model import CommitMachine
from tests.unit.model.test_scheduler_model import SchedulerMachine

_Mutation = Callable[[pytest.MonkeyPatch], None]

_EXAMPLES = 1_000


def found(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=_EXAMPLES,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


# What both share: the ledger.


def commit_early(patch: pytest.MonkeyPatch) -> None:
    """All that was received is committed, settled or not."""
    right = PartitionLedger.commit

    def commit(self: PartitionLedger) -> Commit | None:
        return right(self) and Commit(self._next or 0, "")

    patch.setattr(PartitionLedger, "commit", commit)


def claim_too_much(patch: pytest.MonkeyPatch) -> None:
    """The metadata says that everything beyond the commit is settled."""

    def settled_beyond(self: PartitionLedger, base: int) -> Any:
        if self._next is not None and self._next > base + 1:
            yield base + 1, self._next

    patch.setattr(PartitionLedger, "_settled_beyond", settled_beyond)


def forget_what_was_settled_beyond(patch: pytest.MonkeyPatch) -> None:
    """The metadata of the commit is not read."""
    right = PartitionLedger.__init__

    def init(self: PartitionLedger, **given: Any) -> None:
        right(self, **{**given, "committed_metadata": ""})

    patch.setattr(PartitionLedger, "__init__", init)


# The worker's.


class _Eager:
    """A producer that says at once that Kafka has it."""

    def __init__(self, producer: Produces) -> None:
        self._producer = producer

    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        self._producer.produce(records, lambda: None)
        on_acked()


def settle_before_the_acknowledgement(patch: pytest.MonkeyPatch) -> None:
    """What was produced counts as in Kafka."""
    right = Dispatcher.__init__
    patch.setattr(
        Dispatcher,
        "__init__",
        lambda self, **given: right(self, **{**given, "producer": _Eager(given["producer"])}),
    )


def one_target_settles_the_event(patch: pytest.MonkeyPatch) -> None:
    """The first of an event's deliveries settles its offset."""
    right = Dispatcher._close

    def close(self: Dispatcher, flight: Flight) -> None:
        flight.ledger.settle(flight.offset)
        right(self, flight)

    patch.setattr(Dispatcher, "_close", close)


def drop_what_a_drain_leaves(patch: pytest.MonkeyPatch) -> None:
    """What has not begun when a drain begins is settled."""
    right = TargetQueue.withdraw

    def withdraw(self: TargetQueue, goes: Callable[[int, Turn], bool]) -> list[Turn]:
        gone = right(self, goes)
        for turn in gone:
            if not turn.flight.started:
                turn.flight.ledger.settle(turn.flight.offset)
        return gone

    patch.setattr(TargetQueue, "withdraw", withdraw)


def leave_a_fan_out_half_done(patch: pytest.MonkeyPatch) -> None:
    """A drain leaves the waiting deliveries of an event of which another has begun."""
    right = TargetQueue.withdraw

    def withdraw(self: TargetQueue, goes: Callable[[int, Turn], bool]) -> list[Turn]:
        for turn in [*self._ready, *(turn for behind in self._behind.values() for turn in behind or ())]:
            turn.flight.started = False
        return right(self, goes)

    patch.setattr(TargetQueue, "withdraw", withdraw)


def give_partitions_away_undrained(patch: pytest.MonkeyPatch) -> None:
    """What is under way is left to itself."""

    async def drain(self: Dispatcher, *, limit_s: float) -> None:
        """Not."""

    patch.setattr(Dispatcher, "drain", drain)


def forget_what_was_taken(patch: pytest.MonkeyPatch) -> None:
    """A repetition is not recognised."""
    patch.setattr(Recent, "first_time", lambda *_: True)


def take_a_record_again(patch: pytest.MonkeyPatch) -> None:
    """A record that is read again in one assignment is taken again, as another event."""
    right = PartitionLedger.receive

    def receive(self: PartitionLedger, offset: int) -> bool:
        if self._next is not None and offset < self._next:
            self._next = offset
            self.recent = Recent(size=1)
        return right(self, offset)

    patch.setattr(PartitionLedger, "receive", receive)


def settle_the_event_with_its_repetition(patch: pytest.MonkeyPatch) -> None:
    """A repetition settles all that is pending before it."""
    right = PartitionLedger.settle

    def settle(self: PartitionLedger, offset: int) -> None:
        for pending in [pending for pending in self._pending if pending <= offset]:
            right(self, pending)

    patch.setattr(PartitionLedger, "settle", settle)


def attempt_without_a_lease(patch: pytest.MonkeyPatch) -> None:
    """A worker that was frozen goes on with what it had."""

    async def lease_again(self: Dispatcher, turn: Turn) -> bool:  # noqa: ARG001 - the dispatcher's signature
        return True

    patch.setattr(Dispatcher, "_lease_again", lease_again)


def attempt_all_at_once(patch: pytest.MonkeyPatch) -> None:
    """Two events of one key are sent to a target at the same time."""
    right = TargetQueue.admit

    def admit(self: TargetQueue, turn: Turn, *, now_s: float) -> bool:
        turn.key = ("", str(id(turn)))
        return right(self, turn, now_s=now_s)

    patch.setattr(TargetQueue, "admit", admit)


def forget_an_interrupted_attempt(patch: pytest.MonkeyPatch) -> None:
    """What is cut off at the drain limit is neither parked nor left."""
    right = Dispatcher._conclude

    def conclude(self: Dispatcher, turn: Turn, outcome: Outcome, **when: Any) -> None:
        if isinstance(outcome, Interrupted):
            self._close(turn.flight)
        else:
            right(self, turn, outcome, **when)

    patch.setattr(Dispatcher, "_conclude", conclude)


@pytest.mark.parametrize(
    "mutate",
    [
        commit_early,
        claim_too_much,
        forget_what_was_settled_beyond,
        settle_before_the_acknowledgement,
        one_target_settles_the_event,
        drop_what_a_drain_leaves,
        leave_a_fan_out_half_done,
        give_partitions_away_undrained,
        forget_what_was_taken,
        take_a_record_again,
        settle_the_event_with_its_repetition,
        attempt_without_a_lease,
        attempt_all_at_once,
        forget_an_interrupted_attempt,
    ],
)
def test_the_commit_model_finds(mutate: _Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-1, INV-2, INV-8: a worker that breaks one of them is caught."""
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        found(CommitMachine)


# The scheduler's.


def fire_early(patch: pytest.MonkeyPatch) -> None:
    """A record leaves half a second before it is due."""
    right = Lane.take_due
    patch.setattr(Lane, "take_due", lambda self, *, now_ms, most: right(self, now_ms=now_ms + 500, most=most))


def settle_before_the_delivery_report(patch: pytest.MonkeyPatch) -> None:
    """A sent record counts as moved."""

    def settle(ledger: PartitionLedger, offset: int) -> Callable[[], None]:
        ledger.settle(offset)
        return lambda: None

    patch.setattr(lanes_module, "_settle", settle)


def drop_on_revoke(patch: pytest.MonkeyPatch) -> None:
    """What still waits when lanes are given away is committed with the rest."""
    right = Scheduler._revoked

    def revoked(self: Scheduler, *given: Any) -> None:
        for lane in self._lanes:
            for offset in list(lane.ledger._pending):
                lane.ledger.settle(offset)
        right(self, *given)

    patch.setattr(Scheduler, "_revoked", revoked)


def give_away_without_a_commit(patch: pytest.MonkeyPatch) -> None:
    """A graceful hand-over tells nobody what was moved since the last commit."""
    patch.setattr(Scheduler, "_revoked", Scheduler._lost)


def give_away_without_a_flush(patch: pytest.MonkeyPatch) -> None:
    """A graceful hand-over doesn't wait for what is on its way."""
    right = Scheduler._revoked

    def revoked(self: Scheduler, *given: Any) -> None:
        producer: Any = self._producer
        flush, producer.flush = producer.flush, lambda _: True
        try:
            right(self, *given)
        finally:
            producer.flush = flush

    patch.setattr(Scheduler, "_revoked", revoked)


class _NeverResumes:
    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def resume(self, partitions: Any) -> None:
        """Not."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def forget_that_a_lane_is_paused(patch: pytest.MonkeyPatch) -> None:
    """spring-kafka #2525: the client remembers a pause over a rebalance, and the new lane doesn't."""
    right = Scheduler._assigned
    patch.setattr(
        Scheduler,
        "_assigned",
        lambda self, consumer, given: right(self, cast("Any", _NeverResumes(consumer)), given),
    )


def forget_a_lane(patch: pytest.MonkeyPatch) -> None:
    """One of the lanes of an assignment is not kept."""
    right = Lanes.assign
    patch.setattr(Lanes, "assign", lambda self, committed: right(self, dict(list(committed.items())[:-1])))


def never_pause(patch: pytest.MonkeyPatch) -> None:
    """A full lane is read on."""
    patch.setattr(Lane, "full", property(lambda _: False))


def never_resume(patch: pytest.MonkeyPatch) -> None:
    """A lane that was full once is not read any more."""
    patch.setattr(Lane, "low", property(lambda _: False))


def send_without_bound(patch: pytest.MonkeyPatch) -> None:
    """Moves pile up while Kafka acknowledges none."""
    patch.setattr(Lanes, "room", lambda _: 1_000)


def wake_up_and_go_on(patch: pytest.MonkeyPatch) -> None:
    """A scheduler that was frozen doesn't ask whether its lanes are still its own."""
    patch.setattr(Lanes, "stood_still_s", lambda _: None)


def believe_every_commit(patch: pytest.MonkeyPatch) -> None:
    """A commit that Kafka refused is not made again."""
    patch.setattr(Scheduler, "_on_commit", lambda *_: None)


def drop_on_the_way_in(patch: pytest.MonkeyPatch) -> None:
    """A record for which there is no room is noted as received and lost."""
    right = Lane.put

    def put(self: Lane, waiting: Waiting) -> None:
        if self.full:
            self.ledger.settle(waiting.offset)
        else:
            right(self, waiting)

    patch.setattr(Lane, "put", put)


@pytest.mark.parametrize(
    "mutate",
    [
        commit_early,
        claim_too_much,
        forget_what_was_settled_beyond,
        fire_early,
        settle_before_the_delivery_report,
        drop_on_revoke,
        give_away_without_a_commit,
        give_away_without_a_flush,
        forget_that_a_lane_is_paused,
        forget_a_lane,
        never_pause,
        never_resume,
        send_without_bound,
        wake_up_and_go_on,
        believe_every_commit,
        drop_on_the_way_in,
    ],
)
def test_the_scheduler_model_finds(mutate: _Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-1, INV-2, INV-3, INV-8: a scheduler that breaks one of them is caught."""
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        found(SchedulerMachine)
