"""The aiokafka client's side of the consumer, which lives in a thread and a loop of its own (docs/adr/0002).

Place in the data's way: under `consumer`, which asks it across the threads. What always holds: a commit says exactly
what it was given, metadata included, and an error that ends our part in the group ends the worker. Must not decide what
is committed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import structlog
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.transport.drivers import aiokafka as faust_aiokafka

from streams.commit.known_topics import knowing_the_topics
from streams.commit.ledger import Commit
from streams.commit.ledgers import Partition

__all__ = ["SettledThread"]

_log = structlog.get_logger("streams.commit")


class SettledThread(faust_aiokafka.AIOKafkaConsumerThread):  # type: ignore[misc]  # faust ships no types
    """Commits with metadata, and committed offsets with theirs."""

    async def on_start(self) -> None:
        """Start the client, and learn from it what it has no hooks for."""
        await super().on_start()
        coordinator = self._ensure_consumer()._coordinator  # noqa: SLF001 - there are no hooks
        coordinator._do_heartbeat = self._renewing_the_lease(coordinator._do_heartbeat)  # noqa: SLF001 - as above
        # Half a session: what else a leader has to do must fit into it, too.
        limit_s = self.consumer.app.conf.broker_session_timeout / 2
        coordinator._perform_assignment = knowing_the_topics(coordinator, limit_s=limit_s)  # noqa: SLF001 - as above
        coordinator._push_error_to_user = self._ending_the_worker(coordinator._push_error_to_user)  # noqa: SLF001 - as above
        coordinator._coordination_task.add_done_callback(self._coordination_ended)  # noqa: SLF001 - as above

    def _renewing_the_lease(self, heartbeat: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[bool]]:
        """Every answered heartbeat renews the lease."""
        lease = self.consumer.lease

        async def renewing_heartbeat() -> bool:
            asked_at_s = lease.now_s()
            answered = bool(await heartbeat())
            if answered:
                lease.renew(asked_at_s=asked_at_s)
            return answered

        return renewing_heartbeat

    def _ending_the_worker(self, push_error: Callable[[Exception], Any]) -> Callable[[Exception], Any]:
        """An error that ends our part in the group ends the worker.

        aiokafka does nothing more for the group until somebody fetches such an error, and Faust never does:
        the worker would live on and consume nothing (faust #175).
        """

        def telling_push(error: Exception) -> Any:
            self._end_worker(error)
            return push_error(error)

        return telling_push

    def _coordination_ended(self, task: "asyncio.Task[None]") -> None:
        """Its end is the client's own, at a stop, unless it has an error."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._end_worker(error)

    def _end_worker(self, error: BaseException) -> None:
        def crash() -> None:
            self._crashing = asyncio.ensure_future(self.consumer.crash(error))

        self.parent_loop.call_soon_threadsafe(crash)

    async def commit_with_metadata(self, commits: dict[Partition, Commit]) -> bool:
        """Commit; False where it was refused, or may not have arrived."""
        return bool(await self.call_thread(self._commit_with_metadata, commits))

    async def fetch_committed(self, partitions: Iterable[Partition]) -> dict[Partition, Commit]:
        """What the group has committed, with its metadata; partitions without a commit are left out."""
        found: dict[Partition, Commit] = await self.call_thread(self._fetch_committed, list(partitions))
        return found

    async def with_records(self, partitions: list[Partition]) -> list[Partition]:
        """Those of the partitions that hold records, or once did; all of them if the broker doesn't say."""
        found: list[Partition] = await self.call_thread(self._with_records, partitions) if partitions else []
        return found

    async def partition_count(self, topic: str) -> int:
        """How many partitions a topic has, as far as is known here."""
        return int(await self.call_thread(self._partition_count, topic))

    async def _partition_count(self, topic: str) -> int:
        return len(self._ensure_consumer().partitions_for_topic(topic) or ())

    async def _with_records(self, partitions: list[Partition]) -> list[Partition]:
        try:
            ends = await self._ensure_consumer().end_offsets(
                [TopicPartition(*partition) for partition in partitions]
            )
        except KafkaError:
            return partitions
        return [(tp.topic, tp.partition) for tp, end in ends.items() if end > 0]

    async def _commit_with_metadata(self, commits: dict[Partition, Commit]) -> bool:
        offsets = {
            TopicPartition(*partition): OffsetAndMetadata(commit.offset, commit.metadata)
            for partition, commit in commits.items()
        }
        try:
            await self._ensure_consumer().commit(offsets)
        except (CommitFailedError, IllegalStateError, KafkaError) as error:
            # The partitions moved on, or the broker is away. What is not committed is delivered again by
            # the next owner, or committed by the next try; neither is a reason to stop.
            _log.warning("commit_refused", error=type(error).__name__, partitions=len(offsets))
            return False
        return True

    async def _fetch_records(self, consumer: Any, *partitions: Any, **limits: Any) -> Any:
        """Fetch records, and put them back if the flow was stopped meanwhile.

        A fetch that waited through a rebalance may return records of the new assignment before the flow is
        resumed. Faust throws those away and seeks to what is committed, which is nowhere for a partition
        without a commit: they would be lost.
        """
        fetched = await super()._fetch_records(consumer, *partitions, **limits)
        if self.consumer.flow_active:
            return fetched
        for tp, records in fetched.items():
            consumer.seek(tp, records[0].offset)
        return {}

    async def _fetch_committed(self, partitions: list[Partition]) -> dict[Partition, Commit]:
        coordinator = self._ensure_consumer()._coordinator  # noqa: SLF001 - aiokafka gives metadata nowhere else
        found = await coordinator.fetch_committed_offsets(
            [TopicPartition(*partition) for partition in partitions]
        )
        # Offsets that were set with confluent_kafka, as a reset does it, have a NUL behind their metadata.
        return {
            (tp.topic, tp.partition): Commit(committed.offset, (committed.metadata or "").removesuffix("\0"))
            for tp, committed in found.items()
            if committed.offset >= 0
        }
