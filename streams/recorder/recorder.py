"""The recorder: reads one topic, has the batches kept in Postgres, and commits what is kept.

A plain `confluent_kafka` consumer in a group of its own, in one thread; the last in the data's way: nothing waits for
it. Which topic, how it is read and where it is kept are given. Invariants: an offset is committed when its record is
in Postgres, or told as passed over; what was read and not written when the partitions go is forgotten, for their next
owner to read. So a crash at any point, two recorders at once, or one that wakes up late write some records twice,
which the log doesn't show. While Postgres is away it holds one batch, polls on (so it stays in the group), and tries
again. Must not decide what a record means: that is its source's matter, and `fold`'s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from connectors.kafka.message_headers import message_headers
from connectors.kafka.place import place_of
from connectors.postgres.errors import DatabaseUnreachableError, PostgresError
from streams.errors import RecorderFailed, RecordMalformed
from streams.recorder.batch import Batch, Dated, Place
from streams.recorder.keeper import Keeper
from streams.recorder.source import Incoming, Source

__all__ = ["Recorder"]

_log = structlog.get_logger("streams.recorder")

#: How long a batch may wait for more to come: how far the log is behind, and how many transactions it costs.
_COLLECT_S: Final = 0.2
_BACKOFF_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
_POLL_S: Final = 0.1
_COMMITTED_WITHIN_S: Final = 5.0


E = TypeVar("E", bound=Dated)


class Recorder(Generic[E]):
    """What one recorder process does with one topic.

    Args:
        bootstrap_servers: where Kafka is.
        source: what is read.
        keeper: where the batches go.
        session_timeout_s: after how much silence the group gives a dead recorder's partitions away.
        monotonic_s: seconds that only go forward.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        source: Source[E],
        keeper: Keeper[E],
        session_timeout_s: float,
        monotonic_s: Callable[[], float],
    ) -> None:
        self._source = source
        self._keeper = keeper
        self._monotonic_s = monotonic_s
        self._log = _log.bind(topic=source.topic)
        self._batch: Batch[E] = Batch()
        self._unreadable: list[tuple[Place, str]] = []
        self._owned: list[TopicPartition] = []
        self._expected: dict[int, int] = {}
        self._kept_offsets: dict[int, int] = {}
        self._waiting = False
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": source.group,
                "client.id": source.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": round(session_timeout_s * 1000),
                "heartbeat.interval.ms": round(session_timeout_s * 1000 / 3),
                "queued.max.messages.kbytes": 16_384,  # what is prefetched beyond the batch
                "fetch.wait.max.ms": 100,
                "partition.assignment.strategy": "roundrobin",
                "log_level": 3,
                "logger": logging.getLogger("streams.recorder.rdkafka"),
                "on_commit": self._on_commit,
            }
        )

    def run(self, stopping: Callable[[], bool]) -> None:
        """Record until `stopping` says so; then keep what was read, commit, and leave the group.

        Raises:
            RecorderFailed: the consumer is broken for good. Restart the process: nothing is lost by it.
        """
        self._consumer.subscribe(
            [self._source.topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        self._log.info("recorder_started")
        try:
            while not stopping():
                self._keeper.tend()
                self._collect(stopping)
                self._keep(stopping)
        finally:
            self._consumer.close()  # revokes, and so commits
            self._keeper.close()
            self._log.info("recorder_stopped", **self._keeper.counts)

    def _collect(self, stopping: Callable[[], bool]) -> None:
        """Read until the batch is full, or its time is over."""
        end_s = self._monotonic_s() + _COLLECT_S
        while not self._batch.is_full and not stopping():
            left_s = end_s - self._monotonic_s()
            if left_s <= 0:
                return
            self._poll(left_s)

    def _poll(self, timeout_s: float) -> None:
        message = self._consumer.poll(timeout_s)
        if message is None:
            return
        error = message.error()
        if error is None:
            self._read(message)
        elif error.fatal():
            raise RecorderFailed(f"reading {self._source.topic} failed for good: {error.str()}")
        else:
            # It heals by itself (a broker that restarts, a topic that is about to be created): librdkafka goes on.
            self._log.warning("read_failed", error=error.str())

    def _read(self, message: Message) -> None:
        record = _incoming(message)
        self._check_gap(record.place)
        entry: E | None = None
        try:
            entry = self._source.read(record)
        except RecordMalformed as error:
            self._unreadable.append((record.place, str(error)))
        self._batch.add(record.place, entry, size_bytes=len(record.value or b""))

    def _check_gap(self, place: Place) -> None:
        """Say it where Kafka has deleted records before they were read: the recorder was down for too long."""
        expected = self._expected.get(place.partition)
        if expected is not None and place.offset > expected:
            self._log.error(
                self._source.deleted_unread,
                partition=place.partition,
                count=place.offset - expected,
                what=self._source.consequence,
            )
        self._expected[place.partition] = place.offset + 1

    def _keep(self, stopping: Callable[[], bool]) -> None:
        """Have the batch written, however long that takes, and commit it."""
        waits_s, since_s = iter(_BACKOFF_S), self._monotonic_s()
        # A batch that went with its partitions leaves the question open whether Postgres is back.
        while self._batch or self._waiting:
            try:
                self._keeper.keep(self._batch.reads)
            except PostgresError as error:
                if stopping():
                    return  # not committed: read again by whoever is next
                self._wait(error, next(waits_s, _BACKOFF_S[-1]), stopping)
                continue
            self._tell_unreadable()
            self._commit(self._batch)
            self._batch = Batch()
            if self._waiting:
                self._waiting = False
                self._consumer.resume(self._owned)
                self._log.info("postgres_back", after_s=round(self._monotonic_s() - since_s, 1))

    def _wait(self, error: PostgresError, wait_s: float, stopping: Callable[[], bool]) -> None:
        """Let time pass without reading; polling goes on, which keeps us in the group and hears of rebalances."""
        event = "postgres_away" if isinstance(error, DatabaseUnreachableError) else "postgres_refuses"
        self._log.warning(event, error=str(error), again_in_s=wait_s, held=len(self._batch.reads))
        if not self._waiting:
            self._waiting = True
            self._consumer.pause(self._owned)
        end_s = self._monotonic_s() + wait_s
        while not stopping() and self._monotonic_s() < end_s:
            self._poll(_POLL_S)

    def _tell_unreadable(self) -> None:
        by_error: dict[str, list[Place]] = {}
        for place, error in self._unreadable:
            by_error.setdefault(error, []).append(place)
        for error, places in by_error.items():
            self._keeper.skip(places, reason="unreadable", error=error)
        self._unreadable.clear()

    def _commit(self, batch: Batch[E]) -> None:
        self._kept_offsets.update(batch.next_offsets)
        self._commit_offsets(batch.next_offsets, asynchronous=True)

    def _commit_offsets(self, next_offsets: Any, *, asynchronous: bool) -> None:
        offsets = [
            TopicPartition(self._source.topic, number, offset) for number, offset in next_offsets.items()
        ]
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=asynchronous)  # type: ignore[call-overload]
        except KafkaException as exception:
            # The partitions are somebody else's, or the broker is away: what isn't committed is read and written again.
            self._log.warning("commit_refused", error=exception.args[0].str())

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        refused = error or next((tp.error for tp in partitions if tp.error is not None), None)
        if refused is not None:
            self._log.warning("commit_refused", error=refused.str())

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._owned = partitions
        try:
            committed = consumer.committed(partitions, timeout=_COMMITTED_WITHIN_S)
            self._expected = {tp.partition: tp.offset for tp in committed if tp.offset >= 0}
        except KafkaException as exception:
            # Only the check for a gap misses it: where to read on from, the client asks by itself.
            self._log.warning("committed_unknown", error=exception.args[0].str())
        consumer.assign(partitions)
        if self._waiting:
            consumer.pause(partitions)
        else:
            consumer.resume(partitions)  # librdkafka remembers over a rebalance what was paused
        self._log.info("recorder_assigned", count=len(partitions))

    def _revoked(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """The partitions go to somebody else. What was read and not kept is read again there."""
        self._commit_offsets(self._kept_offsets, asynchronous=False)
        self._forget()

    def _lost(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """The partitions are somebody else's already: nothing may be committed."""
        self._forget()

    def _forget(self) -> None:
        self._batch = Batch()
        self._unreadable.clear()
        self._owned = []
        self._expected.clear()
        self._kept_offsets.clear()


def _incoming(message: Message) -> Incoming:
    _, number, offset = place_of(message)
    _, appended_at_ms = message.timestamp()
    headers = message_headers(message)
    return Incoming(Place(number, offset), appended_at_ms, message.key(), headers, message.value())
