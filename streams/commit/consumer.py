"""Faust's consumer with our commit rule in the place of its own (docs/adr/0002).

Faust's own bookkeeping can pass a message in flight (faust #606, #315, #216), so none of it is used: the
agents note records in `Ledgers`, and every commit says exactly what the ledgers say. On a rebalance: drain,
commit, forget; on an assignment: read offsets and metadata back, and only then let records flow.

Faust runs the aiokafka client in a thread with a loop of its own; `_SettledThread` is the part that lives
there. This module is the only one that knows Faust's and aiokafka's insides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

import structlog
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from faust.transport.drivers import aiokafka as faust_aiokafka

from streams import topics
from streams.commit.known_topics import knowing_the_topics
from streams.commit.lease import Lease
from streams.commit.ledger import Commit, PartitionLedger
from streams.commit.ledgers import Ledgers, Partition
from streams.commit.lost_offsets import tell_no_offsets

__all__ = ["SettledConsumer", "settled_transport"]

_log = structlog.get_logger("streams.commit")

_RECORDS_A_YIELD = 100


class _SettledThread(faust_aiokafka.AIOKafkaConsumerThread):  # type: ignore[misc]  # faust ships no types
    """The aiokafka client's side: commits with metadata, and committed offsets with theirs."""

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
        return bool(await self.call_thread(self._commit_with_metadata, commits))

    async def fetch_committed(self, partitions: Iterable[Partition]) -> dict[Partition, Commit]:
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
        return {
            (tp.topic, tp.partition): Commit(committed.offset, committed.metadata or "")
            for tp, committed in found.items()
            if committed.offset >= 0
        }


class SettledConsumer(faust_aiokafka.Consumer):  # type: ignore[misc]  # faust ships no types
    """A Faust consumer that commits what the ledgers say, and drains before it lets partitions go."""

    ledgers: Ledgers
    lease: Lease
    drain: Callable[[], Coroutine[Any, Any, None]]
    resume: Callable[[], None]
    share: Callable[[int, int], None]
    _committing: asyncio.Future[None] | None = None

    def _new_consumer_thread(self) -> _SettledThread:
        # asyncio's own loop, not uvloop's: there a write to a connection that was just lost raises
        # RuntimeError, which aiokafka doesn't expect, and a broker that restarts would end the worker.
        own_loop = asyncio.SelectorEventLoop()
        thread = _SettledThread(self, loop=self.loop, beacon=self.beacon, thread_loop=own_loop)
        thread._close_thread_loop_on_stop = True  # noqa: SLF001 - mode closes only a loop that it made itself
        return thread

    async def on_partitions_revoked(self, revoked: set[Any]) -> None:
        """A rebalance begins: Faust stops the flow and calls `wait_empty`; then nothing is ours any more."""
        if self.app.should_stop:
            # In the middle of a stop Faust would close the client here, and what the stop's own drain settles
            # could not be committed any more.
            await self.wait_empty()
        else:
            await super().on_partitions_revoked(revoked)
        self.ledgers.revoke()

    async def on_partitions_assigned(self, assigned: set[Any], generation_id: int = 0) -> None:
        """A rebalance ended: what the group committed becomes our ledgers, before any record flows."""
        if self.app.should_stop:
            return  # nothing more is taken; the group is left in a moment
        partitions = [(tp.topic, tp.partition) for tp in assigned]
        joined_at_s = self.lease.now_s()
        try:
            committed = await self._thread.fetch_committed(partitions)
            unknown = [partition for partition in partitions if partition not in committed]
            tell_no_offsets(await self._thread.with_records(unknown))
            partition_count = await self._thread.partition_count(topics.EVENTS)
        except Exception as error:
            # aiokafka would log it and go on, with partitions that nobody keeps a ledger of.
            await self.crash(error)
            raise
        self.ledgers.assign(
            {
                partition: PartitionLedger(
                    committed=commit.offset if commit else None,
                    committed_metadata=commit.metadata if commit else "",
                    generation=generation_id,
                )
                for partition in partitions
                for commit in (committed.get(partition),)
            }
        )
        numbers = [number for topic, number in partitions if topic == topics.EVENTS]
        self.share(len(numbers), max(partition_count, *(number + 1 for number in numbers)))
        self.lease.renew(asked_at_s=joined_at_s)
        if not self.app.should_stop:  # it may have begun to drain for a stop meanwhile
            self.resume()
        _log.info("partitions_assigned", generation=generation_id, partitions=_listed(partitions))
        await super().on_partitions_assigned(assigned, generation_id)

    async def wait_empty(self) -> None:
        """Faust's place for "finish what has begun": before a revocation, and before a stop."""
        await self.drain()
        await self.force_commit()

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:  # noqa: ARG002, FBT001, FBT002 - Faust's signature
        """Faust's timer calls this every commit interval. One commit at a time; a second one is not needed."""
        if self._committing is not None:
            return False
        return await self.force_commit()

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:  # noqa: ARG002, FBT001, FBT002 - Faust's signature
        """Commit what is settled, after any commit that is under way."""
        while self._committing is not None:
            await asyncio.wait((self._committing,))
        commits = self.ledgers.commits()
        if not commits:
            return False
        finished = self._committing = asyncio.get_running_loop().create_future()
        try:
            done = bool(await self._thread.commit_with_metadata(commits))
            if done:
                self.ledgers.committed(commits)
            return done
        finally:
            self._committing = None
            finished.set_result(None)

    def track_message(self, message: Any) -> None:
        """Not needed: the ledgers track."""

    def ack(self, message: Any) -> bool:  # noqa: ARG002 - Faust's signature
        """Faust acks in a `finally`, whatever happened; here only the ledgers settle."""
        return False

    async def _drain_messages(self, fetcher: Any) -> None:
        """Hand every fetched record to its agent; Faust's fetcher runs this.

        Faust's own makes two tasks for each record, to get out of a full queue when a rebalance begins.
        Here the record is handed over late instead, and its agent sees that it is of an earlier generation.
        """
        callback, since_yield = self.callback, 0
        try:
            while not (self.should_stop or fetcher.should_stop):
                async for _, message in self.getmany(timeout=1.0):
                    await callback(message)
                    since_yield += 1
                    if since_yield >= _RECORDS_A_YIELD:
                        since_yield = 0
                        await asyncio.sleep(0)
                await asyncio.sleep(0)
        except (*self.consumer_stopped_errors, asyncio.CancelledError):
            if not self.transport.app.should_stop:
                raise

    async def _add_gap(self, tp: Any, offset_from: int, offset_to: int) -> None:
        """Faust counts the record after an offset hole as acked; the ledgers need no gaps."""

    async def verify_all_partitions_active(self) -> None:
        """Faust's livelock detector knows its own acks only."""


def settled_transport(
    ledgers: Ledgers,
    *,
    lease: Lease,
    drain: Callable[[], Coroutine[Any, Any, None]],
    resume: Callable[[], None],
    share: Callable[[int, int], None],
) -> type[Any]:
    """A Faust transport whose consumer follows these ledgers. `drain` and `resume` are the dispatcher's.

    `share` is told at each assignment how many partitions of `outbox.events` are this worker's, and of how many.
    """
    consumer = type(
        "WorkerConsumer",
        (SettledConsumer,),
        {
            "ledgers": ledgers,
            "lease": lease,
            "drain": staticmethod(drain),
            "resume": staticmethod(resume),
            "share": staticmethod(share),
        },
    )
    return type("WorkerTransport", (faust_aiokafka.Transport,), {"Consumer": consumer})


def _listed(partitions: Iterable[Partition]) -> str:
    return " ".join(f"{topic}/{number}" for topic, number in sorted(partitions))
