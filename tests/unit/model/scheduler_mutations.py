"""The scheduler's rules, broken on purpose: each of these patches the product in one place."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from streams.commit.ledger import PartitionLedger
from streams.delay import lanes as lanes_module
from streams.delay.lane import Lane, Waiting
from streams.delay.lane_lease import LaneLease
from streams.delay.lanes import Lanes
from streams.delay.scheduler import Scheduler

__all__ = ["SCHEDULER_MUTATIONS"]


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
    patch.setattr(LaneLease, "held", lambda _: True)


def count_a_question_as_its_answer(patch: pytest.MonkeyPatch) -> None:
    """A scheduler that is cut off goes on as long as it asks."""
    right = LaneLease.asked

    def asked(self: LaneLease, question: Any) -> None:
        right(self, question)
        self._lease.renew(asked_at_s=self._monotonic_s())

    patch.setattr(LaneLease, "asked", asked)


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


SCHEDULER_MUTATIONS = [
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
    count_a_question_as_its_answer,
    believe_every_commit,
    drop_on_the_way_in,
]
