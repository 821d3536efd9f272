"""Duplicates: what has been taken lately is recognised, and what only looks like it is not."""

from uuid import UUID

import pytest

from streams.records.target import TargetName
from tests.support.deliveries import NOW_MS, a_delivery
from tests.support.dispatch_bench import DispatchBench, event_record, redelivery_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


async def test_a_repeated_event_is_settled_without_a_second_attempt() -> None:
    """CASES 13: what Debezium repeats after a restart has the same id, and dies here."""
    bench = DispatchBench(holding=False)
    bench.take(event_record(0))
    bench.take(event_record(1, id=UUID(int=1), aggregate_id="0"))
    await settled()
    assert len(bench.target.begun) == 1
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_a_repeated_event_does_not_settle_the_first_ones_offset() -> None:
    """INV-2: the duplicate is settled, the attempt it would have repeated is still open."""
    bench = DispatchBench()
    bench.target.holding = True
    bench.take(event_record(0))
    bench.take(event_record(1, id=UUID(int=1), aggregate_id="0"))
    await settled()
    assert bench.unsettled() == [0]
    commit = bench.ledger.commit()
    assert commit is None or commit.offset == 0
    bench.target.answer()
    await settled()
    bench.producer.ack()
    bench.assert_nothing_leaks()


async def test_a_redelivered_record_is_attempted_once_and_a_resend_each_time() -> None:
    """CASES 15: identity is event, target, attempt, deferrals and replay; a second manual resend is another replay."""
    bench = DispatchBench(holding=False)
    delivery = a_delivery(attempt=2, first_failed_at_ms=NOW_MS)
    again = [
        delivery,
        delivery,
        a_delivery(attempt=2, first_failed_at_ms=NOW_MS, replay_id="r1"),
        a_delivery(attempt=2, first_failed_at_ms=NOW_MS, replay_id="r2"),
        a_delivery(attempt=2, first_failed_at_ms=NOW_MS, replay_id="r2"),
        a_delivery(attempt=2, deferrals=1, first_failed_at_ms=NOW_MS),
        a_delivery(attempt=3, first_failed_at_ms=NOW_MS),
    ]
    for offset, sent in enumerate(again):
        bench.take(redelivery_record(offset, sent))
    await settled()
    assert [(made.attempt, made.deferrals, made.replay_id) for made in bench.target.begun] == [
        (2, 0, None),
        (2, 0, "r1"),
        (2, 0, "r2"),
        (2, 1, None),
        (3, 0, None),
    ]
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_two_targets_of_one_event_are_no_duplicates_of_each_other() -> None:
    """CASES 12, CASES 14: identity is event and target."""
    targets = [ScriptedTarget("ep_1"), ScriptedTarget("ep_2")]
    bench = DispatchBench(targets, holding=False)
    for offset, name in enumerate(("ep_1", "ep_2")):
        bench.take(redelivery_record(offset, a_delivery(target=TargetName("endpoint", name))))
    await settled()
    assert [len(target.begun) for target in targets] == [1, 1]
