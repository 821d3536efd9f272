"""The dispatcher: an attempt per event and target, a next hop for each, and offsets that settle when Kafka has it."""

import asyncio
from uuid import UUID

import pytest

from streams.records.delivery import Origin
from streams.records.outcome import Cancelled, ErrorCode, Failed, Outcome, Rejected, Succeeded
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.records.wire import decode_delivery, header_map
from tests.support.deliveries import NOW_MS, a_delivery
from tests.support.dispatch_bench import DispatchBench, Record, event_record, redelivery_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


async def test_an_offset_settles_when_kafka_has_the_outcome_and_not_before() -> None:
    """INV-2: the target has answered, but until its attempt record is acknowledged the offset stays unsettled."""
    bench = DispatchBench()
    bench.take(event_record(5))
    await settled()
    assert bench.target.begun
    assert bench.unsettled() == [5]
    bench.producer.ack()
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_an_event_is_settled_when_every_one_of_its_deliveries_is() -> None:
    """INV-2, CASES 14: a fan-out to three targets settles with the last of them, in whatever order they end."""
    targets = [ScriptedTarget(name) for name in ("ep_1", "ep_2", "ep_3")]
    bench = DispatchBench(targets)
    bench.take(event_record(0))
    await settled()
    assert [str(attempt.delivery.target) for attempt in bench.attempts] == [
        "endpoint:ep_1",
        "endpoint:ep_2",
        "endpoint:ep_3",
    ]
    for group in reversed(bench.producer.waiting.copy()):
        assert bench.unsettled() == [0]
        bench.producer.ack(group)
    assert bench.unsettled() == []


async def test_a_retry_and_its_attempt_record_are_one_group() -> None:
    """INV-1, INV-2: with one of the two acknowledged, the delivery may still be lost; the offset waits for both."""
    bench = DispatchBench([ScriptedTarget("ep_1", outcome=Failed(error="503", status=503))])
    bench.take(event_record(0))
    await settled()
    (group,) = bench.producer.waiting
    assert group.topics == ["outbox.attempts", "outbox.retry-1s"]
    for record in group.records[::-1]:
        assert bench.unsettled() == [0]
        bench.producer.ack_record(group, record)
    assert bench.unsettled() == []


@pytest.mark.parametrize(
    ("outcome", "topics"),
    [
        (Succeeded(status=204), ["outbox.attempts"]),
        (Cancelled(reason="deleted"), ["outbox.attempts"]),
        (Rejected(code=ErrorCode.ENDPOINT_GONE, error="410"), ["outbox.attempts", "outbox.dead-letter"]),
        (RuntimeError("a defect"), ["outbox.attempts", "outbox.retry-1s"]),
    ],
    ids=["succeeded", "cancelled", "rejected", "defect"],
)
async def test_every_outcome_has_its_records(outcome: Outcome | Exception, topics: list[str]) -> None:
    """INV-1: delivered, parked or buried; a defect in a target is a failure like any other, and loses nothing."""
    bench = DispatchBench([ScriptedTarget("ep_1", outcome=outcome)])
    bench.take(event_record(0))
    await settled()
    (group,) = bench.producer.waiting
    assert group.topics == topics
    bench.producer.ack()
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("event_type", ["endpoint.failing", "endpoint.disabled"])
async def test_what_nobody_wants_of_the_outboxs_own_events_is_settled_quietly(event_type: str) -> None:
    """Nobody need subscribe to them, and no dead letter says so; an application's event of nobody is one."""
    bench = DispatchBench([])
    bench.take(event_record(0, type=event_type))
    bench.take(event_record(1, type="endpoint.connected"))
    await settled()
    assert bench.unsettled() == [1]
    ((dead,),) = [group.records for group in bench.producer.waiting]
    assert header_map(dead.headers)["outbox-error-code"] == b"HANDLER_NOT_REGISTERED"
    bench.producer.ack()
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_a_parked_delivery_carries_what_its_next_attempt_needs() -> None:
    """INV-4, INV-5, INV-7: the same id and bytes, the next number, the first failure's time, the first place."""
    bench = DispatchBench([ScriptedTarget("ep_1", outcome=Failed(error="503"))])
    record = event_record(7, payload=b'{"b":1,  "a":2}')
    bench.take(record)
    await settled()
    parked = bench.producer.waiting[0].records[1]
    delivery = decode_delivery(header_map(parked.headers), key=parked.key, value=parked.value)
    assert delivery.event.id == UUID(int=8)
    assert parked.value == b'{"b":1,  "a":2}'
    assert (delivery.attempt, delivery.first_failed_at_ms) == (2, NOW_MS)
    assert delivery.origin == Origin("outbox.events", 3, 7)
    assert bench.attempts[0].delivery.attempt == 1


@pytest.mark.parametrize("topic", ["outbox.events", "outbox.redelivery"])
async def test_an_undecodable_record_goes_to_the_dead_letters_with_its_bytes(topic: str) -> None:
    """INV-1, CASES 41: nothing is tried, nothing is lost, and the partition moves on once Kafka has it."""
    bench = DispatchBench()
    bench.take(Record(topic=topic, offset=4, key=b"k\xff", value=b"\x00\xff", headers=[("id", b"no uuid")]))
    await settled()
    ((dead,),) = [group.records for group in bench.producer.waiting]
    headers = header_map(dead.headers)
    assert (dead.topic, dead.key, dead.value) == ("outbox.dead-letter", b"k\xff", b"\x00\xff")
    assert headers["id"] == b"no uuid"
    assert headers["outbox-error-code"] == b"EVENT_MALFORMED"
    assert headers["outbox-origin"] == f"{topic}/3/4".encode()
    assert bench.unsettled() == [4]
    assert not bench.target.begun
    bench.producer.ack()
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_an_event_that_nobody_wants_is_a_dead_letter() -> None:
    """INV-1: a missing handler is terminal, with a code that says so."""
    bench = DispatchBench([])
    bench.take(event_record(0))
    await settled()
    (dead,) = bench.producer.waiting[0].records
    assert header_map(dead.headers)["outbox-error-code"] == b"HANDLER_NOT_REGISTERED"
    assert "outbox-target" not in header_map(dead.headers)
    bench.producer.ack()
    bench.assert_nothing_leaks()
    assert bench.unsettled() == []


async def test_a_test_event_goes_to_the_one_endpoint_that_it_is_about() -> None:
    """Not to the others, whatever types they want; a dead letter says why, where the endpoint is not to be had."""
    bench = DispatchBench([ScriptedTarget("ep_1"), ScriptedTarget("ep_2")])
    bench.take(event_record(0, type=TEST_EVENT_TYPE, aggregate_id="ep_2"))
    bench.take(event_record(1, type=TEST_EVENT_TYPE, aggregate_id="ep_gone"))
    await settled()
    assert [str(attempt.delivery.target) for attempt in bench.attempts] == ["endpoint:ep_2"]
    [dead] = [
        one for group in bench.producer.waiting for one in group.records if one.topic.endswith("letter")
    ]
    assert b"the endpoint that this test event is for" in header_map(dead.headers)["outbox-error"]
    bench.producer.ack()
    bench.producer.ack()
    assert bench.unsettled() == []


async def test_an_event_that_nobody_wants_may_be_discarded_by_choice() -> None:
    """`unrouted = discard`: settled at once, nothing written."""
    bench = DispatchBench([], discard_unrouted=True)
    bench.take(event_record(0))
    await settled()
    assert bench.unsettled() == []
    assert not bench.producer.groups
    bench.assert_nothing_leaks()


async def test_a_parked_delivery_of_a_deleted_endpoint_is_cancelled() -> None:
    """CASES 2: it ends here, with an attempt record that says why, and does not loop."""
    bench = DispatchBench([])
    bench.take(redelivery_record(0, a_delivery(attempt=3)))
    await settled()
    (group,) = bench.producer.waiting
    assert group.topics == ["outbox.attempts"]
    assert bench.outcomes() == ["Cancelled"]
    bench.producer.ack()
    bench.assert_nothing_leaks()


async def test_a_parked_delivery_of_a_handler_that_is_gone_is_a_dead_letter() -> None:
    """INV-1: a deployment without the handler loses nothing; it can be redriven when the handler is back."""
    bench = DispatchBench([])
    bench.take(redelivery_record(0, a_delivery(attempt=3, target=TargetName("handler", "gone"))))
    await settled()
    dead = bench.producer.waiting[0].records[1]
    headers = header_map(dead.headers)
    assert headers["outbox-error-code"] == b"HANDLER_NOT_REGISTERED"
    assert headers["outbox-target"] == b"handler:gone"
    assert headers["outbox-attempt"] == b"3"


async def test_events_of_one_key_are_attempted_one_at_a_time_and_in_order() -> None:
    """First attempts of a key keep the order of their commits, however many slots are free."""
    bench = DispatchBench(holding=False)
    bench.target.holding = True
    for offset in range(5):
        bench.take(event_record(offset, aggregate_id="42"))
    for _ in range(5):
        await settled()
        assert len(bench.target.running) == 1
        bench.target.answer()
    await settled()
    assert [made.event.id.int for made in bench.target.begun] == [1, 2, 3, 4, 5]
    bench.assert_nothing_leaks()


async def test_an_attempt_that_cancels_itself_is_interrupted_and_parked() -> None:
    """A CancelledError out of a target never ends the agent, and costs the attempt it may have been."""
    bench = DispatchBench([ScriptedTarget("ep_1", outcome=asyncio.CancelledError())])
    bench.take(event_record(0))
    await settled()
    assert bench.outcomes() == ["Interrupted"]
    assert bench.producer.waiting[0].topics[1].startswith("outbox.retry-")
    bench.producer.ack()
    bench.assert_nothing_leaks()


async def test_an_observer_that_raises_loses_no_turn() -> None:
    """A defect in the log or the metrics is no reason to hold a delivery for ever."""

    def broken(_: object) -> None:
        raise RuntimeError("no metrics today")

    bench = DispatchBench(observe=broken)
    bench.take(event_record(0))
    await settled()
    bench.producer.ack()
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_an_endpoint_made_anew_under_the_same_id_keeps_one_queue() -> None:
    """One at a time per key holds across the change of the target, with its new limit, and a drain sees it all."""
    first, second = ScriptedTarget("ep_1", concurrency=1), ScriptedTarget("ep_1", concurrency=3)
    first.holding = second.holding = True
    bench = DispatchBench([first], holding=False)
    bench.take(event_record(0, aggregate_id="42"))
    await settled()
    bench.directory.targets = [second]
    for offset, key in enumerate(["42", "43", "44"], start=1):
        bench.take(event_record(offset, aggregate_id=key))
    await settled()
    assert (len(first.running), len(second.running)) == (1, 2)
    first.answer()
    await settled()
    assert len(second.running) == 3
    await bench.dispatcher.drain(limit_s=0.01)
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_many_parked_deliveries_of_unknown_targets_leave_nothing_behind() -> None:
    """Each is answered at once, whatever stands in for their target."""
    bench = DispatchBench([], holding=False)
    for offset in range(50):
        bench.take(redelivery_record(offset, a_delivery(attempt=2, replay_id=str(offset))))
    await bench.producer.produced(50)
    await settled()
    assert bench.outcomes() == ["Cancelled"] * 50
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()
