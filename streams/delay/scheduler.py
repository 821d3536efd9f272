"""The scheduler: reads the delay tiers, holds each record until it is due, moves it on, and commits what was moved.

A plain `confluent_kafka` consumer in a group of its own, in one thread. It never sleeps past a poll, so a
long delay never costs it its membership (reactor-kafka #89); it never reads ahead more than a lane's small
buffer, so its memory doesn't grow with the backlog (sequin #2128). An offset is committed when Kafka has
acknowledged the record that replaced it.

Must not decide anything about a delivery: only when, by the `outbox-due-at` that the record brings.
"""

import logging
from collections.abc import Callable

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from connectors.kafka.errors import ProducerFatal
from connectors.kafka.message_headers import message_headers
from connectors.kafka.place import place_of
from connectors.kafka.producer import RecordProducer, producer_config
from streams import topics
from streams.commit.ledger import Commit
from streams.commit.ledgers import Partition
from streams.commit.lost_offsets import tell_no_offsets
from streams.delay.group_offsets import committed_offsets, has_records
from streams.delay.lane import Waiting
from streams.delay.lanes import Clock, Lanes
from streams.delay.move import due_at_ms
from streams.errors import SchedulerFailed
from streams.records.wire import header_map
from streams.retry.tiers import RetryTiers

__all__ = ["Scheduler"]

_log = structlog.get_logger("streams.delay")

_BATCH = 500
_FLUSH_S = 3.0


class Scheduler:
    """One scheduler process's work.

    Args:
        bootstrap_servers: where Kafka is.
        tiers: the delay topics.
        session_timeout_s: after how much silence the group gives a dead scheduler's lanes away.
        commit_interval_s: time between commits.
        clock: time and chance.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        tiers: RetryTiers,
        session_timeout_s: float,
        commit_interval_s: float,
        clock: Clock,
    ) -> None:
        self._tiers = tiers
        self._fatal: str | None = None
        self._refusal: str | None = None
        self._producer = RecordProducer(
            producer_config(bootstrap_servers, client_id=topics.SCHEDULER_GROUP), on_fatal=self._fail
        )
        self._lanes = Lanes(
            tiers=tiers,
            producer=self._producer,
            clock=clock,
            session_timeout_s=session_timeout_s,
            commit_interval_s=commit_interval_s,
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": topics.SCHEDULER_GROUP,
                "client.id": topics.SCHEDULER_GROUP,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": round(session_timeout_s * 1000),
                "heartbeat.interval.ms": round(session_timeout_s * 1000 / 3),
                # What is prefetched beyond the lanes' own buffers, for all partitions together.
                "queued.max.messages.kbytes": 16_384,
                "fetch.wait.max.ms": 50,
                "partition.assignment.strategy": "roundrobin",
                "log_level": 3,
                "logger": logging.getLogger("streams.delay.rdkafka"),
                "on_commit": self._on_commit,
            }
        )

    def run(self, stopping: Callable[[], bool]) -> None:
        """Move records until `stopping` says so; then commit and leave the group.

        Raises:
            SchedulerFailed: the producer is broken for good. Restart the process: nothing is lost by it.
        """
        self._begin()
        try:
            while not stopping() and self._fatal is None:
                self._round()
            if self._fatal is not None:
                raise SchedulerFailed(self._fatal)
        finally:
            self._end()

    def _begin(self) -> None:
        self._subscribe()
        _log.info("scheduler_started", tiers=len(self._tiers.topics))

    def _round(self) -> None:
        """Read, move what is due, commit what was moved."""
        for message in self._consumer.consume(_BATCH, self._lanes.poll_s()):
            self._read(message)
        for partition in self._lanes.move_due():
            self._consumer.resume([TopicPartition(*partition)])
        self._producer.poll()
        self._commit(self._lanes.commits_due(), asynchronous=True)

    def _end(self) -> None:
        self._producer.flush(_FLUSH_S)
        self._consumer.close()  # revokes, and so commits
        self._producer.close()
        _log.info("scheduler_stopped")

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            list(self._tiers.topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def _read(self, message: Message) -> None:
        error = message.error()
        if error is not None:
            self._read_failed(error)
            return
        topic, number, offset = place_of(message)
        partition = topic, number
        headers = header_map(message_headers(message))
        waiting = Waiting(
            offset=offset,
            due_at_ms=due_at_ms(headers),
            key=message.key(),
            value=message.value(),
            headers=headers,
        )
        if self._lanes.put(partition, waiting):
            self._consumer.pause([TopicPartition(*partition)])

    def _read_failed(self, error: KafkaError) -> None:
        # What is not fatal heals by itself (a broker that restarts, a topic that is about to be created):
        # librdkafka goes on.
        if error.fatal():
            self._fatal = f"reading the retry tiers failed for good: {error.str()}"
        else:
            _log.warning("read_failed", error=error.str())

    def _commit(self, commits: dict[Partition, Commit], *, asynchronous: bool) -> None:
        """Each answer comes to `_on_commit`."""
        if not commits:
            return
        offsets = [
            TopicPartition(topic, number, commit.offset, metadata=commit.metadata)
            for (topic, number), commit in commits.items()
        ]
        self._lanes.committed(commits)
        self._lanes.lease.asked(_question(offsets))
        try:
            answered = self._consumer.commit(offsets=offsets, asynchronous=asynchronous)  # type: ignore[call-overload]
        except KafkaException as exception:
            self._on_commit(exception.args[0], offsets)
            return
        if not asynchronous:
            self._on_commit(None, answered)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Who is no member has nothing accepted; a member may have some of the partitions refused."""
        refused = error or next((tp.error for tp in partitions if tp.error is not None), None)
        accepted = error is None and any(tp.error is None for tp in partitions)
        self._lanes.lease.answered(_question(partitions), accepted=accepted)
        if refused is None:
            self._refusal = None
            return
        # The lanes moved on, or the broker is away: what is not committed is said again, or moved again by
        # who has the lanes now.
        self._lanes.uncommitted()
        if refused.str() != self._refusal:
            self._refusal = refused.str()
            _log.warning("commit_refused", error=self._refusal)

    def _fail(self, error: ProducerFatal) -> None:
        self._fatal = str(error)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        committed = committed_offsets(consumer, partitions)
        self._lanes.assign(
            {
                (tp.topic, tp.partition): Commit(tp.offset, tp.metadata or "") if tp.offset >= 0 else None
                for tp in committed
            }
        )
        consumer.assign(partitions)
        # librdkafka remembers what was paused over a rebalance, and the new lanes don't (spring-kafka #2525).
        consumer.resume(partitions)
        tell_no_offsets(
            (tp.topic, tp.partition) for tp in committed if tp.offset < 0 and has_records(consumer, tp)
        )
        _log.info("lanes_assigned", count=len(partitions))

    def _revoked(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """The lanes go to somebody else.

        What was moved is committed first, what only waited here is read again there.
        """
        self._producer.flush(_FLUSH_S)
        # The last commit may have failed, and its answer not have been heard yet.
        self._lanes.uncommitted()
        self._commit(self._lanes.commits(), asynchronous=False)
        self._lanes.forget()

    def _lost(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        """The lanes are somebody else's already: nothing may be committed."""
        self._lanes.forget()


def _question(partitions: list[TopicPartition]) -> frozenset[tuple[str, int, int]]:
    return frozenset((tp.topic, tp.partition, tp.offset) for tp in partitions)
