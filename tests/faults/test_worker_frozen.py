"""A worker stands still for longer than its group waits, and wakes up when its partitions are somebody else's."""

from __future__ import annotations

from tests.support.answers import respond
from tests.support.gate import Gate
from tests.support.group import owner_of, wait_until_settled, wait_until_shared
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail

PATIENT = {
    "rebalance_drain_limit_s": 2,
    "endpoint_first_byte_timeout_s": 90,
    "endpoint_timeout_s": 90,
    "drain_limit_s": 91,
    "endpoint_schedule": "1s,1s,1s,1s",
}


def test_a_worker_that_wakes_up_late_does_no_harm(pipeline: Pipeline) -> None:
    """INV-2, INV-8, CASES 25: it sends, parks and commits nothing of what was taken over, joins again, and works.

    A pause of the machine, a stopped container or a long garbage collection look like this. Attempts that
    hang at the other worker hold up the rebalance, so that the late one has seconds in which to do harm with
    the records that it had fetched.
    """
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    held = pipeline.mailbox(gate.before(respond(204)))
    flowed = pipeline.mailbox()
    pipeline.scheduler()
    workers = [pipeline.start("worker", **PATIENT) for _ in range(2)]
    wait_until_shared(workers)
    held_ids = pipeline.append_many(held.event_type, 12)
    held.wait_for_events(held_ids)
    sleeper = owner_of(events.wait_for_events(held_ids)[0], workers)
    sleeper.freeze()
    before = pipeline.append_many(flowed.event_type, 600)
    flowed.wait_for_events(before)

    sleeper.thaw()
    wait_until_shared(workers)
    gate.open()
    after = pipeline.append_many(flowed.event_type, 300)
    flowed.wait_for_events(after)
    ids = [*held_ids, *before, *after]
    pipeline.attempts.wait_until(lambda log: not log.parked(ids), what="end of all deliveries")
    wait_until_settled(pipeline.kafka, events.wait_for_events(ids))
    # Not a second attempt, and none parked for later either: each event has one turn.
    turns = [pipeline.attempts.outcomes(event_id) for event_id in (*before, *after)]
    assert turns == [["succeeded"]] * 900
    assert flowed.repeated() == {}
    assert [worker.stop() for worker in workers] == [0, 0]
