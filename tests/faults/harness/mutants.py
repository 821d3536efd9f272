"""Rules broken on purpose, each by one patch in the processes of a run: what the harness must turn red for.

A mutant names the faults under which it shows, and the line of the verdict that must not hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from connectors.kafka.producer import RecordProducer
from connectors.webhook import wire
from streams.commit.lease import Lease
from streams.commit.ledger import PartitionLedger
from streams.delay.lane import Lane
from streams.delay.scheduler import Scheduler
from streams.dispatch.circuit import Circuit
from streams.dispatch.dispatcher import Dispatcher
from streams.dispatch.settlement import Settlement
from streams.recorder.recorder import Recorder
from tests.faults.harness.kinds.kind import Kind
from tests.faults.harness.kinds.nothing import Nothing
from tests.faults.harness.kinds.ours import Frozen, Killed, Scaled, Terminated
from tests.faults.harness.kinds.produce import ProduceRefused

__all__ = ["MUTANTS", "Mutant", "install"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A broken rule. `shown_by` are faults that bring it out; `turns_red` one of the verdict's rules."""

    breaks: Callable[[Path], None]
    shown_by: tuple[Kind, ...]
    turns_red: str


def _commit_early(_: Path) -> None:
    """A record counts as settled when it is read (INV-2)."""
    receive = PartitionLedger.receive

    def settled_at_once(self: PartitionLedger, offset: int) -> bool:
        new = receive(self, offset)
        self.settle(offset)
        return new

    _patch(PartitionLedger, "receive", settled_at_once)


def _ack_before_the_report(_: Path) -> None:
    """A record counts as in Kafka when it is handed to the client (INV-2)."""
    send = RecordProducer.send

    def acked_at_once(self: RecordProducer, record: Any, on_acked: Callable[[], None]) -> None:
        send(self, record, lambda: None)
        on_acked()

    _patch(RecordProducer, "send", acked_at_once)


def _drop_on_revoke(_: Path) -> None:
    """What is in flight when its partition moves away is forgotten, and committed (INV-1)."""
    resume = Dispatcher.resume

    async def dropping(self: Dispatcher, *, limit_s: float) -> None:
        self._drain.begin()
        for queue in list(self._queues.values()):
            for turn in [*queue.withdraw(lambda *_: True), *queue.running_turns()]:
                turn.flight.ledger.settle(turn.flight.offset)
                if turn.task is not None:
                    turn.task.cancel()
        await self._drain.wait_until_empty(self.window, limit_s=min(limit_s, 0.5))

    def resuming(self: Dispatcher) -> None:
        while self.window.open_turns:
            self.window.leave()
        resume(self)

    _patch(Dispatcher, "drain", dropping)
    _patch(Dispatcher, "resume", resuming)
    _patch(Settlement, "conclude", _unless_draining(Settlement.conclude))


def _unless_draining(conclude: Callable[..., None]) -> Callable[..., None]:
    def concluding(self: Settlement, *arguments: Any, **named: Any) -> None:
        if not self._drain.active:
            conclude(self, *arguments, **named)

    return concluding


def _fire_early(_: Path) -> None:
    """A parked record moves on as soon as it is read (INV-3)."""
    take_due = Lane.take_due

    def taking_all(self: Lane, *, now_ms: int, most: int) -> list[Any]:
        return take_due(self, now_ms=now_ms + 3_600_000, most=most)

    _patch(Lane, "take_due", taking_all)


def _forget_a_lane(folder: Path) -> None:
    """A lane that is assigned for the second time stays paused (spring-kafka #2525)."""
    assigned, mark = Scheduler._assigned, folder / "assigned-once"

    def forgetting(self: Scheduler, consumer: Any, partitions: list[Any]) -> None:
        assigned(self, consumer, partitions)
        if mark.exists():
            consumer.pause(partitions)
        mark.touch()

    _patch(Scheduler, "_assigned", forgetting)


def _no_circuit(_: Path) -> None:
    """An endpoint that is down is tried whenever a delivery is due."""
    _patch(Circuit, "hold_s", lambda _, *, now_s: 0.0)  # noqa: ARG005 - the circuit's signature


def _sign_other_bytes(_: Path) -> None:
    """What is signed is not what is sent (INV-5)."""
    sign = wire.sign  # type: ignore[attr-defined]  # it is not wire's own

    def signing(*, body: bytes, **named: Any) -> str:
        return sign(body=body + b" ", **named)

    _patch(wire, "sign", signing)


def _log_early(_: Path) -> None:
    """An attempt counts as in the delivery log when it is read."""

    def read(self: Recorder, message: Any) -> None:
        right(self, message)
        self._commit(self._batch)

    right = Recorder._read
    _patch(Recorder, "_read", read)


def _zombies(_: Path) -> None:
    """A worker that wakes up late goes on with what it had fetched (INV-8)."""
    _patch(Lease, "held", lambda _: True)


def _patch(owner: Any, name: str, with_what: Any) -> None:
    assert hasattr(owner, name), f"{owner} has no {name}: mend the mutant"
    setattr(owner, name, with_what)


MUTANTS: Final[dict[str, Mutant]] = {
    "commit-early": Mutant(
        breaks=_commit_early, shown_by=(Killed("worker"), Killed("worker")), turns_red="lost"
    ),
    "ack-before-the-report": Mutant(
        breaks=_ack_before_the_report,
        shown_by=(ProduceRefused(lasts_s=4, killing=True),),
        turns_red="lost",
    ),
    "drop-on-revoke": Mutant(breaks=_drop_on_revoke, shown_by=(Scaled(),), turns_red="lost"),
    "fire-early": Mutant(breaks=_fire_early, shown_by=(Nothing(6),), turns_red="early"),
    "forget-a-lane": Mutant(
        breaks=_forget_a_lane, shown_by=(Terminated("scheduler"),), turns_red="stuck in a topic"
    ),
    "log-early": Mutant(
        breaks=_log_early,
        shown_by=(Killed("recorder"), Killed("recorder")),
        turns_red="attempts not in the log, or too many",
    ),
    "no-circuit": Mutant(breaks=_no_circuit, shown_by=(Nothing(40),), turns_red="down, and hammered"),
    "sign-other-bytes": Mutant(
        breaks=_sign_other_bytes, shown_by=(Nothing(3),), turns_red="wrong signatures"
    ),
    "zombies": Mutant(breaks=_zombies, shown_by=(Frozen("worker"),), turns_red="repeated without a crash"),
}


def install(name: str) -> None:
    """Break a rule in this process."""
    MUTANTS[name].breaks(Path(os.environ["FAULTS_FOLDER"]))
