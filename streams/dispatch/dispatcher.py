"""The dispatcher: every received record becomes turns, every turn an attempt, every attempt a next hop.

A record's offset settles when Kafka has acknowledged what came of each of its deliveries (INV-2). The
dispatcher never waits for one target on another's account (INV-6): a slow target's waiting turns are parked
in a delay tier without costing an attempt.

Runs on the agent's loop and nowhere else. Must not touch Postgres (INV-10), nor decide where a delivery goes: that is
`streams.retry.policy`.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import structlog

from outbox.event import Event
from streams.commit.ledger import PartitionLedger
from streams.dispatch.directory import Directory
from streams.dispatch.drain import Drain
from streams.dispatch.hops import dead_record, records_after
from streams.dispatch.ports import Produces, Received, Surroundings
from streams.dispatch.target import Target
from streams.dispatch.target_queue import TargetQueue
from streams.dispatch.turn import Flight, Turn
from streams.dispatch.unknown_target import UnknownTarget
from streams.dispatch.window import Window
from streams.errors import RecordMalformed
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery, Origin
from streams.records.outcome import Deferred, ErrorCode, Failed, Interrupted, Outcome, Rejected, Succeeded
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.records.wire import decode_delivery, decode_event, decode_unrouted, header_map, is_unrouted
from streams.retry.policy import decide
from streams.retry.tiers import RetryTiers

__all__ = ["Dispatcher"]

_log = structlog.get_logger("streams.dispatch")

_SWEEP_INTERVAL_S = 0.1
#: How long a drain waits for Kafka to acknowledge what it parked. What is not, is unsettled and comes again.
_ACK_LIMIT_S = 3.0
_LEASE_PAUSE_S = 0.05
#: Open turns of a flight that is left to the next owner: so far below zero that no number of endings settles it.
_NEVER_SETTLES = -(10**9)


class Dispatcher:
    """Takes records in, and settles them.

    Args:
        directory: who wants what.
        producer: where outcome records go.
        tiers: where a failed delivery can wait.
        window: how many turns may be open.
        park_wait_s: how long a slow target's queue may be before its turns are parked.
        discard_unrouted: an event that no target wants is done, rather than a dead letter.
        observe: told of every finished turn, for the log and the metrics.
        surroundings: time, chance and names.
        may_begin: whether the partitions are surely still ours; while they may not be, no attempt begins.
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
    ) -> None:
        self._directory = directory
        self._producer = producer
        self._tiers = tiers
        self.window = window
        self._park_wait_s = park_wait_s
        self._discard_unrouted = discard_unrouted
        self._observe = observe
        self._around = surroundings
        self._may_begin = may_begin
        self._queues: dict[TargetName, TargetQueue] = {}
        self._crowded: set[TargetQueue] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._drain = Drain()
        self._burials: set[asyncio.Task[None]] = set()

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
            self._bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
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
            self._bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
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
            self._bury(record, headers, flight, code=ErrorCode.EVENT_MALFORMED, error=str(error))
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
        if event.type == TEST_EVENT_TYPE:
            targets = self._directory.for_test(event.aggregate_id)
        else:
            targets = self._directory.for_type(event.type)
        if targets:
            flight.open_turns = len(targets)
            for target in targets:
                delivery = Delivery(event=event, target=target.name, origin=origin, replay_id=replay_id)
                self._open(delivery, target, flight)
        elif self._discard_unrouted:
            flight.ledger.settle(record.offset)
        else:
            nobody = (
                "the endpoint that this test event is for is disabled, deleted, or not known to this worker yet"
                if event.type == TEST_EVENT_TYPE
                else f"no handler is registered for {event.type}, and no endpoint is subscribed to it"
            )
            self._bury(record, headers, flight, code=ErrorCode.HANDLER_NOT_REGISTERED, error=nobody)

    async def drain(self, *, limit_s: float) -> None:
        """Let what has begun end, within the limit; park what has not by then. Nothing new is taken until `resume`.

        Records of which no attempt has begun are dropped: their offsets are unsettled, so their next owner reads them.
        """
        self._drain.begin()
        for queue in self._queues.values():
            for turn in queue.withdraw(lambda _, turn: not turn.flight.started):
                self.window.leave()
                turn.flight.open_turns = _NEVER_SETTLES
        await self._drain.wait_until_empty(self.window, limit_s=limit_s)
        for queue in self._queues.values():
            for turn in queue.withdraw(lambda _, _turn: True):
                self._conclude(turn, Deferred(reason="the worker stopped before its turn"))
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

    def _open(self, delivery: Delivery, target: Target, flight: Flight) -> None:
        turn = Turn(delivery, target, flight)
        self.window.enter()
        queue = self._queues.get(target.name)
        if queue is None:
            # Only busy targets have a queue; what was known of an idle one's pace is learnt again.
            queue = self._queues[target.name] = TargetQueue(target)
        queue.target = target  # an endpoint made anew is another target, of the same queue and its keys
        now_s = self._around.monotonic_s()
        if queue.admit(turn, now_s=now_s):
            self._start(turn, queue)
        else:
            self._park_overload(queue, now_s=now_s)
            self._watch(queue)

    def _start(self, turn: Turn, queue: TargetQueue) -> None:
        turn.flight.started = True
        turn.task = asyncio.get_running_loop().create_task(self._attempt(turn, queue))

    async def _attempt(self, turn: Turn, queue: TargetQueue) -> None:
        if not self._may_begin() and not await self._lease_again(turn.flight.ledger):
            self._abandon(turn, queue)
            return
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
        cut_off = isinstance(outcome, Interrupted)
        if not self._may_begin() and (cut_off or not await self._lease_again(turn.flight.ledger)):
            # The next owner makes this attempt again: a retry that we parked as well would be a second branch.
            self._abandon(turn, queue)
            return
        self._release(turn, queue, failed=_failed(outcome))
        self._conclude(turn, outcome, started_at_ms=started_at_ms, duration_ms=duration_ms)

    async def _lease_again(self, ledger: PartitionLedger) -> bool:
        """Wait until the partition is surely ours again. False: what waits is the next owner's."""
        try:
            while not self._may_begin():
                if ledger.closed or self.draining:
                    return False
                await asyncio.sleep(_LEASE_PAUSE_S)
        except asyncio.CancelledError:  # the drain limit
            return False
        return True

    def _abandon(self, turn: Turn, queue: TargetQueue) -> None:
        """Leave a turn to the partition's next owner: its record stays unsettled."""
        turn.flight.open_turns = _NEVER_SETTLES
        self._release(turn, queue)
        self.window.leave()
        self._drain.changed()

    def _release(self, turn: Turn, queue: TargetQueue, *, failed: bool | None = None) -> None:
        """A running turn gives its slot to who waits for it."""
        for next_turn in queue.finished(turn, now_s=self._around.monotonic_s(), failed=failed):
            self._start(next_turn, queue)
        self._drop_if_idle(queue)

    def _drop_if_idle(self, queue: TargetQueue) -> None:
        name = queue.target.name
        if queue.idle and self._queues.get(name) is queue:
            del self._queues[name]

    def _conclude(
        self, turn: Turn, outcome: Outcome, *, started_at_ms: int | None = None, duration_ms: float = 0.0
    ) -> None:
        now_ms = self._around.clock_ms()
        next_hop = decide(
            turn.delivery,
            outcome,
            policy=turn.target.policy,
            tiers=self._tiers,
            now_ms=now_ms,
            random=self._around.random,
        )
        attempt = Attempt(
            attempt_id=self._around.new_id(),
            delivery=turn.delivery,
            outcome=outcome,
            next_hop=next_hop,
            started_at_ms=now_ms if started_at_ms is None else started_at_ms,
            duration_ms=duration_ms,
        )
        try:
            self._observe(attempt)
        except Exception:  # noqa: BLE001 - a defect in the log or the metrics must not hold a delivery
            _log.exception("attempt_not_observed", event_id=str(turn.delivery.event.id))
        self._producer.produce(records_after(attempt), lambda: self._close(turn.flight))

    def _close(self, flight: Flight) -> None:
        flight.open_turns -= 1
        if flight.open_turns == 0:
            flight.ledger.settle(flight.offset)
        self.window.leave()
        self._drain.changed()

    def _bury(
        self, record: Received, headers: dict[str, bytes], flight: Flight, *, code: str, error: str
    ) -> None:
        """A whole record goes to the dead letters, with its bytes; the partition moves on."""
        origin = Origin(record.topic, record.partition, record.offset)
        flight.open_turns = 1
        flight.started = True
        self.window.enter()
        dead = dead_record(
            headers=headers, key=record.key, value=record.value, origin=origin, code=code, error=error
        )

        def bury() -> None:
            _log.warning(
                "dead_letter",
                event_id=headers.get("id", b"")[:36].decode(errors="replace"),
                code=code,
                origin=str(origin),
                error=error,
            )
            self._producer.produce([dead], lambda: self._close(flight))

        if self._may_begin():
            bury()
            return
        burial = asyncio.get_running_loop().create_task(self._bury_with_lease(bury, flight))
        self._burials.add(burial)
        burial.add_done_callback(self._burials.discard)

    async def _bury_with_lease(self, bury: Callable[[], None], flight: Flight) -> None:
        """A worker that wakes up late buries nothing that is somebody else's by now."""
        if await self._lease_again(flight.ledger):
            bury()
            return
        flight.open_turns = _NEVER_SETTLES
        self.window.leave()
        self._drain.changed()

    def _park_overload(self, queue: TargetQueue, *, now_s: float) -> None:
        """Park what a target can't be given soon, because it is slow or its circuit is open.

        Not while attempts wait for the lease: the target isn't slow then, and the turns may be another worker's
        already, who makes their attempts.
        """
        crowding = 2 * queue.waiting > self.window.size
        if not self._may_begin() or not queue.overloaded(
            now_s=now_s, bound_s=self._park_wait_s, crowding=crowding
        ):
            return
        hold_s = queue.hold_s(now_s=now_s)
        why = (
            Deferred(reason="the target's circuit is open", retry_after=timedelta(seconds=hold_s))
            if hold_s > self._park_wait_s
            else Deferred(reason="the target is slow and its queue is long")
        )
        for turn in queue.withdraw_overload(now_s=now_s, bound_s=self._park_wait_s):
            turn.flight.started = True
            self._conclude(turn, why)
        self._drop_if_idle(queue)

    def _watch(self, queue: TargetQueue) -> None:
        self._crowded.add(queue)
        if self._sweep_timer is None:
            self._sweep_timer = asyncio.get_running_loop().call_later(_SWEEP_INTERVAL_S, self._sweep)

    def _sweep(self) -> None:
        """Look at the queues that have turns waiting: a target that hangs gives no other sign."""
        now_s = self._around.monotonic_s()
        for queue in list(self._crowded):
            for turn in queue.start_ready(now_s=now_s):
                self._start(turn, queue)
            self._park_overload(queue, now_s=now_s)
            if not queue.waiting:
                self._crowded.discard(queue)
        loop = asyncio.get_running_loop()
        self._sweep_timer = loop.call_later(_SWEEP_INTERVAL_S, self._sweep) if self._crowded else None


def _failed(outcome: Outcome) -> bool | None:
    """What an outcome says of its target: a refusal for good is an answer too. None: nothing."""
    match outcome:
        case Failed():
            return True
        case Succeeded() | Rejected():
            return False
        case _:
            return None
