"""Faust's consumer with our commit rule, on real Kafka: what its own machinery could lose or repeat."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.worker_bench import OwnTopics, WorkerBench


@pytest.fixture
def topics(kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    return OwnTopics(kafka_bootstrap_servers, monkeypatch)


@pytest.fixture
async def worker(topics: OwnTopics) -> AsyncIterator[WorkerBench]:
    made = WorkerBench(topics.servers)
    yield made
    await made.stop()


async def test_records_that_are_fetched_while_the_flow_is_stopped_are_not_lost(
    topics: OwnTopics, worker: WorkerBench
) -> None:
    """INV-1: also in a partition that has no commit yet, to which aiokafka's seek does not go back.

    A fetch that is under way when a rebalance begins may return in its middle, with records of the new assignment;
    Faust throws those away, and seeks to what is committed.
    """
    await worker.start()
    await worker.until_assigned(4)
    consumer, thread = worker.app.consumer, worker.app.consumer._thread
    sought = asyncio.Event()
    seek = thread.seek_to_committed

    async def told() -> object:
        found = await seek()
        sought.set()
        return found

    thread.seek_to_committed = told
    consumer.stop_flow()  # as a rebalance does, with a fetch waiting in the consumer's thread
    topics.produce_events(0, 3)
    await asyncio.wait_for(sought.wait(), timeout=30.0)
    consumer.resume_flow()
    await worker.until(lambda: len(worker.target.begun) >= 3, what="the three events")
    assert worker.begun() == [0, 1, 2]


async def test_a_rebalance_during_a_stop_repeats_nothing(topics: OwnTopics, worker: WorkerBench) -> None:
    """INV-8, CASES 30: in a rolling restart one joins while another drains; what that one settles is committed."""
    await worker.start()
    await worker.until_assigned(4)
    worker.target.holding = True
    topics.produce_events(0, 4)
    await worker.until(lambda: len(worker.target.running) == 4, what="the four attempts")
    stopping = asyncio.ensure_future(worker.stop())
    await worker.until(lambda: worker.dispatcher.draining, what="the drain")
    other = WorkerBench(topics.servers)
    joining = asyncio.ensure_future(other.start())
    await worker.until(lambda: bool(worker.app.rebalancing), what="the rebalance")
    worker.target.answer(4)
    await stopping
    await joining
    await other.until_assigned(4)
    topics.produce_events(4, 1)
    await other.until(lambda: 4 in other.begun(), what="the next event")
    assert other.begun() == [4]
    await other.stop()
