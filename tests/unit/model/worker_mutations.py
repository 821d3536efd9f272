"""The worker's rules, broken on purpose: each of these patches the product in one place."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import PartitionLedger
from streams.commit.recent import Recent
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.ports import Produces
from streams.dispatch.settlement import Settlement
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.tenure import Tenure
from streams.dispatch.turn import Flight, Turn
from streams.records.outcome import Interrupted, Outcome

__all__ = ["WORKER_MUTATIONS"]


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
    right = Settlement.close

    def close(self: Settlement, flight: Flight) -> None:
        flight.ledger.settle(flight.offset)
        right(self, flight)

    patch.setattr(Settlement, "close", close)


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
    patch.setattr(Recent, "first_time", lambda *_, **__: True)


def forget_at_each_rebalance(patch: pytest.MonkeyPatch) -> None:
    """What was taken is not remembered of a partition that stays."""
    patch.setattr(PartitionLedger, "go_on_from", lambda *_: None)


def remember_what_was_left_to_others(patch: pytest.MonkeyPatch) -> None:
    """What was taken and not settled counts as seen, when its partition comes back."""
    patch.setattr(Recent, "without", lambda self, _: self)


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

    async def again(self: Tenure, ledger: PartitionLedger) -> bool:  # noqa: ARG001 - the tenure's signature
        return True

    patch.setattr(Tenure, "again", again)


def attempt_all_at_once(patch: pytest.MonkeyPatch) -> None:
    """Two events of one key are sent to a target at the same time."""
    right = TargetQueue.admit

    def admit(self: TargetQueue, turn: Turn, *, now_s: float) -> bool:
        turn.key = ("", str(id(turn)))
        return right(self, turn, now_s=now_s)

    patch.setattr(TargetQueue, "admit", admit)


def forget_an_interrupted_attempt(patch: pytest.MonkeyPatch) -> None:
    """What is cut off at the drain limit is neither parked nor left."""
    right = Settlement.conclude

    def conclude(self: Settlement, turn: Turn, outcome: Outcome, **when: Any) -> None:
        if isinstance(outcome, Interrupted):
            self.close(turn.flight)
        else:
            right(self, turn, outcome, **when)

    patch.setattr(Settlement, "conclude", conclude)


WORKER_MUTATIONS = [
    settle_before_the_acknowledgement,
    one_target_settles_the_event,
    drop_what_a_drain_leaves,
    leave_a_fan_out_half_done,
    give_partitions_away_undrained,
    forget_what_was_taken,
    forget_at_each_rebalance,
    remember_what_was_left_to_others,
    take_a_record_again,
    settle_the_event_with_its_repetition,
    attempt_without_a_lease,
    attempt_all_at_once,
    forget_an_interrupted_attempt,
]
