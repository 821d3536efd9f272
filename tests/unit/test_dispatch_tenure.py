"""Dispatch without the lease: nothing is begun, parked or buried that may be another worker's by now."""

import pytest

from streams.records.outcome import Failed
from tests.support.dispatch_bench import DispatchBench, event_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


async def test_no_attempt_begins_while_the_lease_is_not_held() -> None:
    """CASES 25: a process that was frozen must not send what may be somebody else's by now."""
    lease = {"held": False}
    bench = DispatchBench(may_begin=lambda: lease["held"], holding=False)
    bench.take(event_record(0))
    await settled()
    assert not bench.target.begun
    lease["held"] = True
    await bench.producer.produced(1)
    await settled()
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_what_waits_for_the_lease_is_left_to_the_next_owner_of_its_partition() -> None:
    """INV-2: never attempted, so never settled here; and no turn is left over."""
    bench = DispatchBench(may_begin=lambda: False)
    for offset in range(10):
        bench.take(event_record(offset))
    await settled()
    bench.ledger.close()
    await bench.all_closed()
    assert bench.unsettled() == list(range(10))
    assert not bench.target.begun
    bench.assert_nothing_leaks()


async def test_a_fan_out_of_which_one_part_never_began_is_never_settled() -> None:
    """INV-2: one target has answered, but the next owner has to make the attempts that waited for the lease."""
    lease = {"held": True}
    first, second = ScriptedTarget("ep_1"), ScriptedTarget("ep_2", concurrency=1)
    first.holding = second.holding = True
    bench = DispatchBench([first, second], may_begin=lambda: lease["held"], holding=False)
    for offset in range(2):
        bench.take(event_record(offset))
    await settled()
    first.answer(2)
    await settled()
    lease["held"] = False
    second.answer()
    await settled()
    bench.ledger.close()
    await bench.all_closed()
    assert [len(first.begun), len(second.begun)] == [2, 1]
    assert bench.unsettled() == [0, 1]
    bench.assert_nothing_leaks()


async def test_what_failed_without_the_lease_is_parked_by_nobody_else() -> None:
    """INV-8: the next owner makes the attempt again; a retry parked here too would be a second branch of it."""
    lease = {"held": True}
    bench = DispatchBench(may_begin=lambda: lease["held"], holding=False)
    bench.target.holding, bench.target.outcome = True, Failed(error="503")
    bench.take(event_record(0))
    await settled()
    lease["held"] = False
    bench.target.answer()
    await settled()
    assert not bench.outcomes()
    bench.ledger.close()
    await bench.all_closed()
    assert (bench.outcomes(), bench.unsettled()) == ([], [0])
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("comes_back", [True, False])
async def test_nothing_is_buried_without_the_lease(comes_back: bool) -> None:  # noqa: FBT001 - pytest calls it
    """INV-8: a worker that wakes up late buries no record that the next owner buries; with the lease again, it does."""
    lease = {"held": False}
    bench = DispatchBench([], may_begin=lambda: lease["held"], holding=False)
    bench.take(event_record(0))
    await settled()
    assert not bench.producer.groups
    if comes_back:
        lease["held"] = True
        await bench.producer.produced(1)
        await settled()
    else:
        bench.ledger.close()
        await bench.all_closed()
    assert (len(bench.producer.groups), bench.unsettled()) == ((1, []) if comes_back else (0, [0]))
    bench.assert_nothing_leaks()


async def test_what_ended_without_the_lease_is_recorded_when_it_is_held_again() -> None:
    """A broker that was away for longer than a session, and knows its members still, costs no repetition."""
    lease = {"held": True}
    bench = DispatchBench(may_begin=lambda: lease["held"], holding=False)
    bench.target.holding = True
    bench.take(event_record(0))
    await settled()
    lease["held"] = False
    bench.target.answer()
    await settled()
    lease["held"] = True
    await bench.producer.produced(1)
    await settled()
    assert (bench.outcomes(), bench.unsettled()) == (["Succeeded"], [])
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("when", ["before the attempt", "after it"])
async def test_a_wait_for_the_lease_makes_no_target_slow(when: str) -> None:
    """A broker that is away for 12 s is not the target's doing: its backlog stays, and is delivered in order."""
    lease = {"held": when == "after it"}
    target = ScriptedTarget("ep_1", concurrency=2)
    target.holding = when == "after it"
    bench = DispatchBench([target], may_begin=lambda: lease["held"], holding=False)
    for offset in range(20):
        bench.take(event_record(offset))
    await settled()
    lease["held"] = False
    if target.holding:
        target.holding = False
        target.answer(2)
        await settled()
    bench.around.pass_s(12)
    lease["held"] = True
    bench.dispatcher._watch.look_at_all()
    await bench.producer.produced(20)
    await settled()
    assert bench.outcomes() == ["Succeeded"] * 20
    assert [made.event.id.int for made in target.begun] == sorted(made.event.id.int for made in target.begun)
    bench.assert_nothing_leaks()
