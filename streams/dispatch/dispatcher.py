"""The dispatcher: every received record becomes turns, every turn an attempt, every attempt a next hop.

A record's offset settles when Kafka has acknowledged what came of each of its deliveries (INV-2). The
dispatcher never waits for one target on another's account (INV-6): what a target can't be given soon, because it is
slow, its circuit is open, or its limits are reached, is parked in a delay tier without costing an attempt.

Runs on the agent's loop and nowhere else. Must not touch Postgres (INV-10), nor decide where a delivery goes: that is
`streams.retry.policy`.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from outbox.event import Event
from outbox.event_type import RESERVED_EVENT_TYPES
from streams.commit.ledger import PartitionLedger
from streams.dispatch.burial import Burial
from streams.dispatch.directory import Directory
from streams.dispatch.drain import Drain
from streams.dispatch.holding import Holding
from streams.dispatch.parking import Parking
from streams.dispatch.ports import Produces, Received, Surroundings
from streams.dispatch.settlement import Settlement
from streams.dispatch.share import Share
from streams.dispatch.target import Target
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.tenure import Tenure
from streams.dispatch.turn import Flight, Turn
from streams.dispatch.unknown_target import UnknownTarget
from streams.dispatch.watch import Watch
from streams.dispatch.window import Window
from streams.errors import RecordMalformed
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.outcome import Deferred, ErrorCode, Failed, Interrupted, Outcome, target_failed
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.records.wire import decode_delivery, decode_event, decode_unrouted, header_map, is_unrouted
from streams.retry.tiers import RetryTiers

__all__ = ["Dispatcher"]

_log = structlog.get_logger("streams.dispatch")

#: How long a drain waits for Kafka to acknowledge what it parked. What is not, is unsettled and comes again.
_ACK_LIMIT_S: Final = 3.0


class Dispatcher:
    """Takes records in, and settles them.

    Args:
        directory: who wants what.
        producer: where outcome records go.
        tiers: where a failed delivery can wait.
        window: how many turns may be open.
        park_wait_s: how long a target's queue may be before its turns are parked.
        discard_unrouted: an event that no target wants is done, rather than a dead letter.
        observe: told of every finished turn, for the log and the metrics.
        surroundings: time, chance and names.
        may_begin: whether the partitions are surely still ours; while they may not be, no attempt begins.
        holding: what keeps deliveries from being buried in a flood; None: nothing.
    """

    def __init__(  # noqa: PLR0913 - the parts it is made of, each once
        self,
        *,
        directory: Directory,
        producer: Produces,
        tiers: RetryTiers,
        window: Window,
        park_wait_s: float,
        discard_unrouted: bool,
        observe: Callable[[Attempt], None],
        surroundings: Surroundings,
        may_begin: Callable[[], bool] = lambda: True,
        holding: Holding | None = None,
    ) -> None:
        self._directory = directory
        self.window = window
        self._discard_unrouted = discard_unrouted
        self._around = surroundings
        self._queues: dict[TargetName, TargetQueue] = {}
        self._drain = Drain()
        self._tenure = Tenure(may_begin, draining=lambda: self.draining)
        self._settlement = Settlement(
            producer=producer,
            tiers=tiers,
            window=window,
            drain=self._drain,
            observe=observe,
            surroundings=surroundings,
            holding=holding,
        )
        self._burial = Burial(self._settlement, tenure=self._tenure, window=window)
        self._parking = Parking(
            self._settlement,
            tenure=self._tenure,
            window=window,
            park_wait_s=park_wait_s,
            surroundings=surroundings,
        )
        self._watch = Watch(self._look, surroundings=surroundings)

    @property
    def draining(self) -> bool:
        """While it drains, nothing new is taken."""
        return self._drain.active

    def take_event(self, record: Received, ledger: PartitionLedger) -> None:
        """A record of `outbox.events`: one turn for each target that wants the event."""
        headers = header_map(record.headers)
        flight = Flight(ledger, record.offset)
        origin = Origin(record.topic, record.partition, record.offset)
        try:
            event = decode_event(headers, key=record.key, value=record.value)
        except RecordMalformed as error:
            self._burial.bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
            return
        if not ledger.recent.first_time(event.id, offset=record.offset):
            ledger.settle(record.offset)
            return
        self._route(record, headers, flight, event=event, origin=origin)

    def take_redelivery(self, record: Received, ledger: PartitionLedger) -> None:
        """A record of `outbox.redelivery`: one turn for the one target it names."""
        headers = header_map(record.headers)
        flight = Flight(ledger, record.offset)
        if is_unrouted(headers):
            self._take_unrouted(record, headers, flight)
            return
        try:
            delivery = decode_delivery(headers, key=record.key, value=record.value)
        except RecordMalformed as error:
            self._burial.bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
            return
        identity = (
            delivery.event.id,
            delivery.target,
            delivery.attempt,
            delivery.deferrals,
            delivery.replay_id,
        )
        if not ledger.recent.first_time(identity, offset=record.offset):
            ledger.settle(record.offset)
            return
        flight.open_turns = 1
        target = self._directory.by_name(delivery.target) or UnknownTarget(delivery.target)
        self._open(delivery, target, flight)

    def _take_unrouted(self, record: Received, headers: dict[str, bytes], flight: Flight) -> None:
        """An event that nobody wanted, and that somebody sends again: to each target that wants it now."""
        try:
            unrouted = decode_unrouted(headers, key=record.key, value=record.value)
        except RecordMalformed as error:
            self._burial.bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
            return
        event, replay_id = unrouted.event, unrouted.replay_id
        if not flight.ledger.recent.first_time((event.id, replay_id), offset=record.offset):
            flight.ledger.settle(record.offset)
            return
        self._route(record, headers, flight, event=event, origin=unrouted.origin, replay_id=replay_id)

    def _route(
        self,
        record: Received,
        headers: dict[str, bytes],
        flight: Flight,
        *,
        event: Event,
        origin: Origin,
        replay_id: str | None = None,
    ) -> None:
        """One turn for each target that wants an event; a dead letter if none does."""
        targets = self._directory.for_event(event)
        if targets:
            flight.open_turns = len(targets)
            for target in targets:
                delivery = Delivery(event=event, target=target.name, origin=origin, replay_id=replay_id)
                self._open(delivery, target, flight)
        elif self._discard_unrouted or self._directory.routes(event) or event.type in RESERVED_EVENT_TYPES:
            # Of the outbox's own events nobody need want any.
            flight.ledger.settle(record.offset)
        else:
            nobody = (
                "the endpoint that this test event is for is disabled, deleted, or not known to this worker yet"
                if event.type == TEST_EVENT_TYPE
                else f"no handler is registered for {event.type}, and no endpoint is subscribed to it"
            )
            self._burial.bury(record, headers, flight, code=ErrorCode.HANDLER_NOT_REGISTERED, error=nobody)

    async def drain(self, *, limit_s: float) -> None:
        """Let what has begun end, within the limit; park what has not by then. Nothing new is taken until `resume`.

        Records of which no attempt has begun are dropped: their offsets are unsettled, so their next owner reads them.
        """
        self._drain.begin()
        for queue in self._queues.values():
            for turn in queue.withdraw(lambda _, turn: not turn.flight.started):
                self._settlement.leave(turn.flight)
        await self._drain.wait_until_empty(self.window, limit_s=limit_s)
        for queue in self._queues.values():
            for turn in queue.withdraw(lambda _, _turn: True):
                self._settlement.conclude(turn, Deferred(reason="the worker stopped before its turn"))
        # A task cancelled before its first step never runs, and gives nothing back: let the latest take theirs.
        await asyncio.sleep(0)
        for queue in list(self._queues.values()):
            for turn in queue.running_turns():
                if turn.task is not None:
                    turn.task.cancel()
        await self._drain.wait_until_empty(self.window, limit_s=_ACK_LIMIT_S)

    def resume(self) -> None:
        """Take records again, after a rebalance."""
        self._drain.end()

    def set_share(self, owned: int, of: int) -> None:
        """So many partitions of so many are this worker's: that is its share of every endpoint's limits."""
        self._directory.set_share(Share(owned, of))

    def _open(self, delivery: Delivery, target: Target, flight: Flight) -> None:
        turn = Turn(delivery, target, flight)
        self.window.enter()
        queue = self._queues.get(target.name)
        if queue is None:
            # Only busy targets have a queue; what was known of an idle one's pace is learnt again.
            queue = self._queues[target.name] = TargetQueue(target)
        queue.target = target  # an endpoint made anew is another target, of the same queue and its keys
        now_s = self._around.monotonic_s()
        if self._parking.turned_away(turn, queue, now_s=now_s):
            self._drop_if_idle(queue)
        elif queue.admit(turn, now_s=now_s):
            self._start(turn, queue)
        else:
            self._look(queue)
            if queue.waiting:
                self._watch.keep(queue)

    def _start(self, turn: Turn, queue: TargetQueue) -> None:
        turn.flight.started = True
        turn.task = asyncio.get_running_loop().create_task(self._attempt(turn, queue))

    async def _attempt(self, turn: Turn, queue: TargetQueue) -> None:
        if not self._tenure.held():
            queue.waits(turn)
            if not await self._tenure.again(turn.flight.ledger):
                self._abandon(turn, queue)
                return
            queue.begins(turn, now_s=self._around.monotonic_s())
        started_at_ms = self._around.clock_ms()
        started_s = self._around.monotonic_s()
        outcome: Outcome
        try:
            outcome = await turn.target.attempt(turn.delivery)
        except asyncio.CancelledError:
            outcome = Interrupted()
        except Exception as error:  # noqa: BLE001 - the agent boundary
            # A defect of ours: it must not stop the agent, and the delivery must not be lost to it.
            _log.exception(
                "attempt_crashed", event_id=str(turn.delivery.event.id), target=str(turn.delivery.target)
            )
            outcome = Failed(error=f"{type(error).__name__} inside the worker, see its log")
        duration_ms = round((self._around.monotonic_s() - started_s) * 1000, 3)
        if not self._tenure.held():
            queue.ends(turn, now_s=self._around.monotonic_s())
            if isinstance(outcome, Interrupted) or not await self._tenure.again(turn.flight.ledger):
                # The next owner makes this attempt again: a retry that we parked as well would be a second branch.
                self._abandon(turn, queue)
                return
        self._release(turn, queue, failed=target_failed(outcome))
        self._settlement.conclude(turn, outcome, started_at_ms=started_at_ms, duration_ms=duration_ms)

    def _abandon(self, turn: Turn, queue: TargetQueue) -> None:
        """Leave a turn to the partition's next owner."""
        self._release(turn, queue)
        self._settlement.leave(turn.flight)

    def _release(self, turn: Turn, queue: TargetQueue, *, failed: bool | None = None) -> None:
        """A running turn gives its slot to who waits for it."""
        for next_turn in queue.finished(turn, now_s=self._around.monotonic_s(), failed=failed):
            self._start(next_turn, queue)
        if queue.waiting:
            self._watch.keep(queue)
        self._drop_if_idle(queue)

    def _drop_if_idle(self, queue: TargetQueue) -> None:
        name = queue.target.name
        if queue.idle and self._queues.get(name) is queue:
            del self._queues[name]

    def _look(self, queue: TargetQueue) -> None:
        """Start what may start, and park what the target can't be given soon."""
        now_s = self._around.monotonic_s()
        for turn in queue.start_ready(now_s=now_s):
            self._start(turn, queue)
        self._parking.relieve(queue, now_s=now_s)
        self._drop_if_idle(queue)
