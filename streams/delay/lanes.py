"""The lanes in a scheduler's hands, and every decision about them: what is due, when to pause, commit, or ask.

Records are put in as they are read, and go out through a producer when they are due; an offset may be
committed when Kafka has acknowledged the record that replaced it (INV-2). Lanes live as long as one
assignment: forgotten, they move nothing more, and what Kafka acknowledges late is not committed from here.

Pure: time and chance are passed in, and `streams.delay.scheduler` carries out what is decided. Must not
decide anything about a delivery: only when, by the `outbox-due-at` that the record brings.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from connectors.kafka.record import OutgoingRecord
from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.ledgers import Ledgers, Partition
from streams.commit.lost_offsets import receive
from streams.delay.lane import Lane, Waiting
from streams.delay.lane_lease import LaneLease
from streams.delay.move import move
from streams.records.delivery import Origin
from streams.retry.tiers import RetryTiers

__all__ = ["MAX_OUTSTANDING", "MAX_OUTSTANDING_BYTES", "Clock", "Lanes", "Sends"]

#: Moves on their way at once: the bound of what a slow broker can pile up here, by number and by size.
MAX_OUTSTANDING = 20_000
MAX_OUTSTANDING_BYTES = 32 * 1024 * 1024
_LONGEST_POLL_S = 0.1
_PRODUCER_POLL_S = 0.01
#: How long what is due may wait for others that soon will be.
_TOGETHER_S = 0.05
#: How soon it is looked again for something to commit, where there was nothing.
_LOOK_AGAIN_S = 0.05


class Clock(Protocol):
    """Time and chance, passed in."""

    def clock_ms(self) -> int:
        """Epoch milliseconds."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that only go forward."""
        ...

    def random(self) -> float:
        """A float in [0, 1)."""
        ...


class Sends(Protocol):
    """What this needs of a producer: it calls back when Kafka has the record, and says what is on its way."""

    outstanding: int
    outstanding_bytes: int

    def send(self, record: OutgoingRecord, on_acked: Callable[[], None]) -> None:
        """Produce a record."""
        ...


class Lanes:
    """All lanes of one assignment.

    Args:
        tiers: the delay topics.
        producer: where moved records go.
        clock: time and chance.
        session_timeout_s: after how much silence the group gives a scheduler's lanes away.
        commit_interval_s: time between commits.
    """

    def __init__(
        self,
        *,
        tiers: RetryTiers,
        producer: Sends,
        clock: Clock,
        session_timeout_s: float,
        commit_interval_s: float,
    ) -> None:
        self._tiers = tiers
        self._producer = producer
        self._clock = clock
        self._commit_interval_s = commit_interval_s
        self._ledgers = Ledgers()
        self._lanes: dict[Partition, Lane] = {}
        self._commit_at_s = clock.monotonic_s()
        self.lease = LaneLease(session_s=session_timeout_s, monotonic_s=clock.monotonic_s)

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._lanes.values())

    def get(self, partition: Partition) -> Lane | None:
        """The lane of a partition; None if it isn't ours."""
        return self._lanes.get(partition)

    # An assignment's life.

    def assign(self, committed: Mapping[Partition, Commit | None]) -> None:
        """These are ours from now on, and nothing else is; with what the group had committed of each."""
        self._lanes = {
            partition: Lane(
                PartitionLedger(
                    committed=commit.offset if commit else None,
                    committed_metadata=commit.metadata if commit else "",
                )
            )
            for partition, commit in committed.items()
        }
        self._ledgers.assign({partition: lane.ledger for partition, lane in self._lanes.items()})
        self.lease.begin()

    def forget(self) -> None:
        """Nothing is ours any more: what only waited here is read again by whoever has it next."""
        self._ledgers.revoke()
        self._lanes = {}
        self.lease.begin()

    # Records in, records out.

    def put(self, partition: Partition, waiting: Waiting) -> bool:
        """A record was read. True: its lane is full now, pause it."""
        lane = self._lanes.get(partition)
        if lane is None or not receive(lane.ledger, partition, waiting.offset):
            return False
        lane.put(waiting)
        if lane.full and not lane.paused:
            lane.paused = True
            return True
        return False

    def move_due(self) -> list[Partition]:
        """Send every record that is due, as far as there is room and the lease is held. Returns the lanes to resume."""
        now_ms = self._clock.clock_ms()  # always asked, so that a step of it is seen when it happens
        if not self.lease.held():
            return []
        resumed = []
        for partition, lane in self._lanes.items():
            for waiting in lane.take_due(now_ms=now_ms, most=self.room()):
                record = move(
                    waiting,
                    parked_at=Origin(*partition, waiting.offset),
                    now_ms=now_ms,
                    tiers=self._tiers,
                    random=self._clock.random,
                )
                self._producer.send(record, _settle(lane.ledger, waiting.offset))
            if lane.paused and lane.low:
                lane.paused = False
                resumed.append(partition)
        return resumed

    def room(self) -> int:
        """How many more moves may be on their way."""
        if self._producer.outstanding_bytes >= MAX_OUTSTANDING_BYTES:
            return 0
        return MAX_OUTSTANDING - self._producer.outstanding

    def poll_s(self) -> float:
        """How long to wait for records: until the next head is due, and no longer than a tenth of a second.

        Those that are due within a few hundredths of a second move together: each group costs a worker a fetch.
        """
        if self.room() <= 0:
            return _PRODUCER_POLL_S  # what is due has to wait for Kafka's acknowledgements
        dues = [due for lane in self._lanes.values() if (due := lane.next_due_ms()) is not None]
        if not dues:
            return _LONGEST_POLL_S
        least_s = 0.0 if self.lease.held() else _PRODUCER_POLL_S  # what is due has to wait for an answer
        due_in_s = (min(dues) - self._clock.clock_ms()) / 1000
        return min(max(due_in_s, _TOGETHER_S), _LONGEST_POLL_S) if due_in_s > 0 else least_s

    # Commits.

    def commits_due(self) -> dict[Partition, Commit]:
        """What to commit now: after an interval, and when no answer is awaited.

        If there is nothing new and the lease must be renewed, it is one lane's last commit.
        """
        now_s = self._clock.monotonic_s()
        if now_s < self._commit_at_s or self.lease.must_wait():
            return {}
        commits = self.commits()
        if not commits and self.lease.must_ask():
            commits = self._ledgers.one_again()
        self._commit_at_s = now_s + (self._commit_interval_s if commits else _LOOK_AGAIN_S)
        return commits

    def commits(self) -> dict[Partition, Commit]:
        """What there is to commit, whatever the time is."""
        return self._ledgers.commits()

    def committed(self, commits: Mapping[Partition, Commit]) -> None:
        """These are taken as committed, until `uncommitted` takes it back."""
        self._ledgers.committed(dict(commits))

    def uncommitted(self) -> None:
        """It is unknown what Kafka has of the last commits: make them again."""
        self._ledgers.uncommitted()


def _settle(ledger: PartitionLedger, offset: int) -> Callable[[], None]:
    return lambda: ledger.settle(offset)
