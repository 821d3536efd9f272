"""A defect of ours in the agent: its record is not settled, and the worker does not go on in silence."""

import asyncio
from typing import Any

import pytest

from streams import topics
from streams.dispatch.dispatcher import Dispatcher
from tests.support.topics import committed
from tests.support.worker_bench import OwnTopics, WorkerBench


@pytest.fixture
def own(kafka_bootstrap_servers: str, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    return OwnTopics(kafka_bootstrap_servers, monkeypatch)


async def test_a_record_on_which_the_agent_raised_is_not_committed(
    own: OwnTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-2, CASES 25 (faust #315): Faust acks in a `finally`, whatever happened; here nothing passes it.

    The records behind it are settled; the commit stands before it, and the defect is told, so that the
    process ends.
    """
    take_event = Dispatcher.take_event

    def raises_on_the_second(self: Dispatcher, record: Any, ledger: Any) -> None:
        if record.offset == 1:
            raise LookupError("a defect")
        take_event(self, record, ledger)

    monkeypatch.setattr(Dispatcher, "take_event", raises_on_the_second)
    worker = WorkerBench(own.servers)
    own.produce_events(0, 4)
    await worker.start()
    await worker.until(lambda: len(worker.attempts) == 3, what="the other three events")
    await worker.stop()
    assert [type(defect) for defect in worker.defects] == [LookupError]
    kept = await asyncio.to_thread(committed, own.servers, topics.WORKER_GROUP)
    assert kept[own.events, 0].offset == 1
