"""Executing one replay: read a batch, send what is due of it at the pace that was asked for, store the progress.

Place in the data's way: between `outbox.replays` and `outbox.redelivery`. It runs in the API's process and in the
command line's. Invariants, for a process that is killed at any point (docs/adr/0018):

- No event is left out: progress is stored after Kafka has acknowledged the batch.
- None is sent twice: where `outbox.redelivery` ended is stored before the batch is sent, and who takes over looks
  from there on for what was sent of it.
- Only who holds the claim sends: it is looked at before each batch, and once a second within it; and who takes over
  lets two seconds pass before it looks for what was sent.

Must not: know what kind of replay it executes (`Source`), or touch the live group.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from connectors.kafka.errors import KafkaEdgeError
from connectors.postgres.errors import PostgresError
from connectors.postgres.replay_claim import ReplayClaim
from connectors.postgres.stored_replay import Offsets, Replay
from streams.errors import ReplayRefused
from streams.replay.outlet import Outlet, SentKey, sent_key
from streams.replay.pace import Pace, batch_size
from streams.replay.source import NotYet, Sendable, Source

__all__ = ["TAKEOVER_AFTER_S", "Came", "Replayer"]

_log = structlog.get_logger("streams.replay")

Came = Literal["ended", "interrupted", "again"]
"""What came of an execution: it has ended; our own stop broke it off; something is away, and it goes on later."""

_ASK_AGAIN_S: Final = 0.5
_CHECK_EVERY_S: Final = 1.0
TAKEOVER_AFTER_S: Final = 2 * _CHECK_EVERY_S
"""From a claim until what was sent is looked for: who lost the claim has found that out by then."""

#: Shorter waits are left to add up: a thread can't sleep that exactly.
_LEAST_WAIT_S: Final = 0.005
_FLUSH_S: Final = 0.25
_LAST_FLUSH_S: Final = 2.0
#: Debezium repeats events after a crash, close together: so many are remembered, by id and target.
_REMEMBERED: Final = 50_000


class _Interrupted(Exception):  # noqa: N818 - it ends the work, and is no error
    """Our own process stops."""


class _NotYet(Exception):  # noqa: N818 - as above
    """What it waits for takes longer: others have their turn first."""


class _Stopped(Exception):  # noqa: N818 - as above
    """Somebody has stopped this replay, or ended it."""


@dataclass(slots=True)
class _Position:
    """Where the batch under way began, and where `outbox.redelivery` ended then."""

    next_offsets: Offsets
    sent_from: Offsets


class Replayer:
    """Executes claimed replays, one at a time. One thread's.

    Args:
        new_source: makes what a claimed replay sends.
        new_outlet: makes where it is sent: one for each execution.
        pause: lets so many seconds pass, or fewer when the process is to stop.
        stopping: whether it is to stop.
        monotonic_s: seconds that only go forward.
        asks: how often a replay that may not begin yet is asked, each half a second, before it is left for later;
            None: until it may. What it has found out by then has to be kept outside, or it may never begin.
    """

    def __init__(
        self,
        *,
        new_source: Callable[[Replay, ReplayClaim], Source],
        new_outlet: Callable[[], Outlet],
        pause: Callable[[float], None],
        stopping: Callable[[], bool],
        monotonic_s: Callable[[], float],
        asks: int | None = None,
    ) -> None:
        self._asks = asks
        self._new_source = new_source
        self._new_outlet = new_outlet
        self._pause = pause
        self._stopping = stopping
        self._monotonic_s = monotonic_s

    def execute(self, claim: ReplayClaim) -> Came:
        """Execute a claimed replay to its end, and give the claim up."""
        with claim:
            try:
                replay = claim.replay()
            except PostgresError as error:
                _log.warning("replay_held_up", error=str(error))
                return "again"
            log = _log.bind(replay_id=replay.id, kind=replay.kind, target=replay.target)
            log.info("replay_begins" if replay.started_at is None else "replay_taken_over")
            try:
                self._run(replay, claim)
            except _Interrupted:
                return "interrupted"
            except _NotYet:
                return "again"
            except _Stopped:
                pass
            except ReplayRefused as error:
                claim.end("failed", error=str(error))
            except (KafkaEdgeError, PostgresError) as error:
                log.warning("replay_held_up", error=str(error))
                with suppress(PostgresError):
                    claim.wait_for(str(error))
                return "again"
            except Exception as error:
                # Tried again for ever, it would hold up the others.
                log.exception("replayer_defect")
                claim.end(
                    "failed", error=f"a defect of the replayer ({type(error).__name__}): its log has more"
                )
            ended = claim.replay()
            log.info(
                "replay_ended", status=ended.status, sent=ended.sent, skipped=ended.skipped, error=ended.error
            )
            return "ended"

    def _run(self, replay: Replay, claim: ReplayClaim) -> None:
        source, outlet = self._new_source(replay, claim), self._new_outlet()
        execution = _Execution(claim, source, outlet, self._pause, self._stopping, self._monotonic_s)
        try:
            execution.run(replay, asks=self._asks)
        finally:
            # Before the claim is given up: nothing of ours may come after the look of who takes over.
            outlet.close()
            source.close()
            _log.debug("replay_left", replay_id=replay.id)


class _Execution:
    """One execution of one replay."""

    def __init__(
        self,
        claim: ReplayClaim,
        source: Source,
        outlet: Outlet,
        pause: Callable[[float], None],
        stopping: Callable[[], bool],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._claim = claim
        self._source = source
        self._outlet = outlet
        self._pause = pause
        self._stopping = stopping
        self._monotonic_s = monotonic_s
        self._checked_s = monotonic_s()
        self._seen: OrderedDict[SentKey, None] = OrderedDict()

    def run(self, replay: Replay, *, asks: int | None) -> None:
        """Execute it to its end."""
        sent_before: frozenset[SentKey] = frozenset()
        if replay.started_at is None:
            self._start(asks)
            replay = self._check()
        else:
            # Who had it may have lost its session alone: by then it has found that out, and sends no more.
            self._let_pass(TAKEOVER_AFTER_S)
            sent_before = self._outlet.sent_since(replay.id, replay.sent_offsets or {})
        self._source.open(replay)
        position = _Position(replay.next_offsets, replay.sent_offsets or {})
        pace = Pace(replay.rate_per_s)
        while (batch := self._source.read(batch_size(replay.rate_per_s))) is not None:
            self._check()
            fresh = [one for one in batch.deliveries if sent_key(one) not in sent_before]
            due = self._source.still_due([one for one in fresh if self._first_time(one)])
            self._send(due, pace, position)
            sent = len(due) + len(batch.deliveries) - len(fresh)
            if due:
                position.sent_from = self._outlet.ends()
            position.next_offsets = batch.next_offsets
            candidates = batch.read if batch.candidates is None else batch.candidates
            self._advance(position, read=batch.read, sent=sent, skipped=max(0, candidates - sent))
        verdict = self._source.verdict(self._claim.replay())
        self._claim.end(verdict.status, error=verdict.error, warning=verdict.warning)

    def _start(self, asks: int | None) -> None:
        said, asked = "", 0
        while isinstance(plan := self._source.plan(), NotYet):
            if plan.reason != said:
                said = plan.reason
                self._claim.wait_for(said)
            asked += 1
            if asked == asks:
                raise _NotYet
            self._pause(_ASK_AGAIN_S)
            self._check()
        self._claim.start(
            begins=plan.begins,
            ends=plan.ends,
            sent_from=self._outlet.ends(),
            to_read=plan.to_read,
            warning=plan.warning,
        )

    def _first_time(self, delivery: Sendable) -> bool:
        """Whether an event was not met yet: it may stand twice on its topic."""
        key = sent_key(delivery)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _send(self, due: Sequence[Sendable], pace: Pace, position: _Position) -> None:
        """Send a batch at its pace, and wait until Kafka has it."""
        count = 0
        try:
            for delivery in due:
                self._let_pass(pace.wait_s(self._monotonic_s()))
                self._outlet.send(delivery)
                count += 1
            while not self._outlet.flush(_FLUSH_S):
                self._let_pass(0)
        except (_Interrupted, _Stopped) as why:
            acknowledged = self._outlet.flush(_LAST_FLUSH_S)
            if isinstance(why, _Stopped) and acknowledged:
                self._advance(position, read=0, sent=count, skipped=0)
            raise

    def _let_pass(self, wait_s: float) -> None:
        """Let so much time pass; look at the claim once a second, and at our own stop always."""
        end_s = self._monotonic_s() + wait_s
        while True:
            now_s = self._monotonic_s()
            if self._stopping() or now_s - self._checked_s >= _CHECK_EVERY_S:
                self._check()
            if end_s - now_s < _LEAST_WAIT_S:
                return
            self._pause(min(end_s - now_s, _CHECK_EVERY_S))

    def _check(self) -> Replay:
        """Find out whether we may go on: the claim is held, and nobody has stopped anything."""
        if self._stopping():
            raise _Interrupted
        replay = self._claim.replay()
        if not replay.is_open:
            raise _Stopped
        self._checked_s = self._monotonic_s()
        return replay

    def _advance(self, position: _Position, *, read: int, sent: int, skipped: int) -> None:
        self._claim.advance(
            read=read,
            sent=sent,
            skipped=skipped,
            next_offsets=position.next_offsets,
            sent_from=position.sent_from,
        )
