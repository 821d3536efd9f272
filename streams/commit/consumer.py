"""Faust's consumer with our commit rule in the place of its own (docs/adr/0002).

Faust's own bookkeeping can pass a message in flight (faust #606, #315, #216), so none of it is used: the
agents note records in `Ledgers`, and every commit says exactly what the ledgers say. On a rebalance: drain,
commit, forget; on an assignment: read offsets and metadata back, and only then let records flow.

Faust runs the aiokafka client in a thread with a loop of its own; `consumer_thread` is the part that lives
there. These two modules are the only ones that know Faust's and aiokafka's insides.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import structlog
from faust.transport.drivers import aiokafka as faust_aiokafka

from streams import topics
from streams.commit.consumer_thread import SettledThread
from streams.commit.lease import Lease
from streams.commit.ledger import PartitionLedger
from streams.commit.ledgers import Ledgers, Partition
from streams.commit.lost_offsets import tell_no_offsets

__all__ = ["SettledConsumer", "settled_transport"]

_log = structlog.get_logger("streams.commit")

_RECORDS_A_YIELD = 100


class SettledConsumer(faust_aiokafka.Consumer):  # type: ignore[misc]  # faust ships no types
    """A Faust consumer that commits what the ledgers say, and drains before it lets partitions go."""

    ledgers: Ledgers
    lease: Lease
    drain: Callable[[], Coroutine[Any, Any, None]]
    resume: Callable[[], None]
    share: Callable[[int, int], None]
    _committing: asyncio.Future[None] | None = None

    def _new_consumer_thread(self) -> SettledThread:
        # asyncio's own loop, not uvloop's: there a write to a connection that was just lost raises
        # RuntimeError, which aiokafka doesn't expect, and a broker that restarts would end the worker.
        own_loop = asyncio.SelectorEventLoop()
        thread = SettledThread(self, loop=self.loop, beacon=self.beacon, thread_loop=own_loop)
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
