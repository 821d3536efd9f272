"""One slow or dead target delays nobody else."""

from __future__ import annotations

from tests.support.answers import respond
from tests.support.child import Child
from tests.support.gate import Gate
from tests.support.pipeline import Pipeline


def test_a_hanging_endpoint_delays_no_other(running: Pipeline, scheduler: Child) -> None:
    """INV-6: each event goes to both endpoints; the healthy one gets all while the other holds its first request.

    There are more deliveries than the worker's window holds, so those of the hanging one have to make room.
    They are parked without costing an attempt, and delivered when it answers again.
    """
    assert scheduler.is_running
    gate = Gate()
    try:
        healthy = running.mailbox()
        hanging = running.mailbox(gate.before(respond(204)), event_type=healthy.event_type)
        running.wait_until_known(healthy)
        while not hanging.received:
            running.append(f"{healthy.event_type}.probe")
            running.wait_until_known(healthy)
        held = hanging.received[0].headers["webhook-id"]
        ids = running.append_many(f"{healthy.event_type}.many", 400, key=lambda index: f"order-{index % 50}")
        healthy.wait_for_events(ids)
        assert not running.attempts.to_the_end().of(held, hanging.id), (
            "the first request was held all the time"
        )
    finally:
        gate.open()
    hanging.wait_for_events(ids)
    running.attempts.wait_until(
        lambda log: not log.parked(ids, hanging.id), what="delivery of what was parked"
    )
    turns = [turn for event_id in ids for turn in running.attempts.of(event_id, hanging.id)]
    assert "deferred" in {turn["outcome"] for turn in turns}
    assert {turn["attempt"] for turn in turns if turn["outcome"] == "succeeded"} == {1}
    assert not hanging.repeated()
