"""Faust's consumer with our commit rule, on real Kafka: what its own machinery could lose or repeat."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
from aiokafka.cluster import ClusterMetadata
from aiokafka.errors import KafkaError, UnknownError

from streams.commit.consumer_thread import SettledThread
from streams.dispatch.share import Share
from tests.support.worker_bench import OwnTopics, WorkerBench

ANSWER_S = 30.0


@pytest.fixture
def topics(kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    return OwnTopics(kafka_bootstrap_servers, monkeypatch)


@pytest.fixture
async def worker(topics: OwnTopics) -> AsyncIterator[WorkerBench]:
    made = WorkerBench(topics.servers)
    yield made
    await made.stop()


def told(function: Callable[..., Awaitable[Any]], event: asyncio.Event, *, first: bool) -> Any:
    """The function, which sets an event on the loop as it begins or as it has ended."""
    loop = asyncio.get_running_loop()

    async def telling(*arguments: Any, **keywords: Any) -> Any:
        if first:
            loop.call_soon_threadsafe(event.set)
        found = await function(*arguments, **keywords)
        loop.call_soon_threadsafe(event.set)
        return found

    return telling


async def stop_the_flow(worker: WorkerBench, *, meanwhile: Callable[[], None] = lambda: None) -> None:
    """What a rebalance does while a fetch waits in the consumer's thread, until that has come back."""
    consumer, thread = worker.app.consumer, worker.app.consumer._thread
    fetching, sought = asyncio.Event(), asyncio.Event()
    thread._fetch_records = told(thread._fetch_records, fetching, first=True)
    await asyncio.wait_for(fetching.wait(), timeout=ANSWER_S)
    thread.seek_to_committed = told(thread.seek_to_committed, sought, first=False)
    consumer.stop_flow()
    meanwhile()
    await asyncio.wait_for(sought.wait(), timeout=ANSWER_S)


async def test_records_that_are_fetched_while_the_flow_is_stopped_are_not_lost(
    topics: OwnTopics, worker: WorkerBench
) -> None:
    """INV-1: also in a partition that has no commit yet, to which aiokafka's seek does not go back.

    A fetch that is under way when a rebalance begins may return in its middle, with records of the new assignment;
    Faust throws those away, and seeks to what is committed.
    """
    await worker.start()
    await worker.until_assigned(4)
    await stop_the_flow(worker, meanwhile=lambda: topics.produce_events(0, 3))
    worker.app.consumer.resume_flow()
    await worker.until(lambda: len(worker.target.begun) >= 3, what="the three events")
    assert worker.begun() == [0, 1, 2]


async def test_a_leader_that_does_not_know_a_topic_yet_looks_again(
    topics: OwnTopics, worker: WorkerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 32: a client of a broker that has just started may lack a topic; it is shared out all the same, at once."""
    looked = 0
    right = ClusterMetadata.partitions_for_topic

    def lacking(cluster: ClusterMetadata, topic: str) -> Any:
        nonlocal looked
        looked += topic.endswith("events")
        return None if topic.endswith("events") and looked <= 3 else right(cluster, topic)

    monkeypatch.setattr(ClusterMetadata, "partitions_for_topic", lacking)
    await worker.start()
    await worker.until_assigned(4)
    topics.produce_events(0, 1)
    await worker.until(lambda: worker.begun() == [0], what="the event")
    assert looked > 3


async def test_a_workers_share_follows_each_rebalance(topics: OwnTopics, worker: WorkerBench) -> None:
    """Alone it has all of an endpoint's limits, beside another its part, and all of it when that one has left."""
    await worker.start()
    await worker.until_assigned(4)
    assert worker.directory.share == Share(2, 2)
    other = WorkerBench(topics.servers)
    await other.start()
    await other.until_assigned(2)
    await worker.until(lambda: worker.directory.share == Share(1, 2), what="its part")
    assert other.directory.share == Share(1, 2)
    await other.stop()
    await worker.until(lambda: worker.directory.share == Share(2, 2), what="all of it again")


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


async def coordination_pushes(coordinator: Any) -> None:
    """What aiokafka does with an error of its part in the group: it waits until somebody asks for it."""
    await coordinator._push_error_to_user(UnknownError("of the broker"))


async def coordination_dies(coordinator: Any) -> None:
    """What a defect of aiokafka's does."""

    def raises() -> None:
        raise RuntimeError("a defect of the client")

    coordinator.ensure_coordinator_known = raises
    coordinator._rejoin_needed_fut.set_result(None)


@pytest.mark.parametrize("happens", [coordination_pushes, coordination_dies])
async def test_what_ends_the_membership_ends_the_worker(
    worker: WorkerBench, happens: Callable[[Any], Coroutine[Any, Any, None]]
) -> None:
    """CASES 25, CASES 32: a worker that takes no part in the group any more must not live on without consuming.

    It ends, and is started again. Faust by itself hears of it if a fetch waits just then, and not in a rebalance.
    """
    await worker.start()
    await worker.until_assigned(4)
    await stop_the_flow(worker)
    thread = worker.app.consumer._thread
    coordinator = thread._ensure_consumer()._coordinator
    happening = asyncio.run_coroutine_threadsafe(happens(coordinator), thread.thread_loop)
    await asyncio.wait_for(worker.app.wait_until_stopped(), timeout=ANSWER_S)
    assert isinstance(worker.app.crash_reason, KafkaError)
    await worker.stop()
    await asyncio.wrap_future(happening)


async def test_a_first_assignment_that_fails_ends_the_worker(
    worker: WorkerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 25: also while the app is still starting, where nobody waits for its end yet."""

    async def refused(_thread: object, _partitions: object) -> dict[object, object]:
        raise KafkaError("not for this group")

    monkeypatch.setattr(SettledThread, "_fetch_committed", refused)
    starting = asyncio.ensure_future(worker.start())
    await asyncio.wait((starting,), timeout=10.0)
    assert starting.done()
    assert isinstance(worker.app.crash_reason, KafkaError)
