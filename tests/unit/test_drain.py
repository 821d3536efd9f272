"""A drain: nothing new is taken, what has begun ends or is parked, what has not is left to the next owner."""

import asyncio
from uuid import UUID

import pytest

from streams.dispatch.drain import Drain
from streams.dispatch.window import Window
from streams.records.outcome import Failed, Outcome, Succeeded
from streams.records.wire import decode_delivery, header_map
from tests.support.chance import seeded
from tests.support.dispatch_bench import DispatchBench, event_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")

#: Long enough for whatever a test waits for; a drain that is over early doesn't take it.
AMPLE_S = 30.0


async def draining(bench: DispatchBench, *, limit_s: float = AMPLE_S) -> "asyncio.Task[None]":
    drain = asyncio.ensure_future(bench.dispatcher.drain(limit_s=limit_s))
    await settled()
    return drain


async def test_a_drain_with_nothing_open_is_over_at_once() -> None:
    """A rebalance of an idle worker takes no time."""
    bench = DispatchBench()
    await bench.dispatcher.drain(limit_s=AMPLE_S)
    assert bench.dispatcher.draining
    bench.dispatcher.resume()
    assert not bench.dispatcher.draining


async def test_what_runs_may_end_and_is_settled() -> None:
    """INV-8: an attempt that is answered within the limit is not repeated by the next owner."""
    bench = DispatchBench()
    bench.target.holding = True
    bench.take(event_record(0))
    drain = await draining(bench)
    bench.target.answer()
    await settled()
    assert not drain.done()
    bench.producer.ack()
    await drain
    assert bench.unsettled() == []
    assert bench.outcomes() == ["Succeeded"]
    bench.assert_nothing_leaks()


async def test_a_record_of_which_no_attempt_has_begun_is_left_to_the_next_owner() -> None:
    """INV-8: it is neither sent nor parked here, and its offset stays unsettled, so the next owner reads it."""
    bench = DispatchBench(holding=False)
    bench.target.concurrency = 1
    bench.target.holding = True
    for offset in range(5):
        bench.take(event_record(offset))
    drain = await draining(bench)
    assert bench.window.open_turns == 1
    bench.target.answer()
    await drain
    assert len(bench.target.begun) == 1
    assert bench.unsettled() == [1, 2, 3, 4]
    assert bench.outcomes() == ["Succeeded"]
    bench.assert_nothing_leaks()


async def test_a_fan_out_that_has_begun_is_seen_through() -> None:
    """INV-8: with one target answered, leaving the rest to the next owner would repeat the one."""
    quick, busy = ScriptedTarget("ep_quick"), ScriptedTarget("ep_busy", concurrency=1)
    busy.holding = True
    bench = DispatchBench([quick, busy], holding=False)
    for offset in range(3):
        bench.take(event_record(offset))
    drain = await draining(bench)
    for _ in range(3):
        busy.answer()
        await settled()
    await drain
    assert [len(quick.begun), len(busy.begun)] == [3, 3]
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_at_the_limit_running_attempts_are_cut_off_and_waiting_ones_deferred() -> None:
    """INV-8: both are parked, so the next owner doesn't fire them at once; only an interrupted attempt counts."""
    quick, busy = ScriptedTarget("ep_quick"), ScriptedTarget("ep_busy", concurrency=1)
    busy.holding = True
    bench = DispatchBench([quick, busy], holding=False)
    for offset in range(2):
        bench.take(event_record(offset))
    await settled()
    await bench.dispatcher.drain(limit_s=0.01)
    parked = [
        decode_delivery(header_map(record.headers), key=record.key, value=record.value)
        for record in bench.producer.stored
        if record.topic.startswith("outbox.retry-")
    ]
    counts = {delivery.event.id.int: (delivery.attempt, delivery.deferrals) for delivery in parked}
    assert counts == {1: (2, 0), 2: (1, 1)}
    assert sorted(bench.outcomes()) == ["Deferred", "Interrupted", "Succeeded", "Succeeded"]
    assert bench.unsettled() == []
    assert not busy.running
    bench.assert_nothing_leaks()


async def test_the_drain_waits_for_what_it_parked_to_be_acknowledged() -> None:
    """INV-2: only then are the offsets settled, and the last commit of this assignment says so."""
    bench = DispatchBench()
    bench.target.holding = True
    bench.take(event_record(0))
    await settled()
    drain = asyncio.ensure_future(bench.dispatcher.drain(limit_s=0.01))
    await bench.producer.produced(1)
    await settled()
    assert not drain.done()
    bench.producer.ack()
    await drain
    assert bench.unsettled() == []


class OverAtOnce(Drain):
    """The limit passes in the very moment in which attempts got their slots: the drain goes on before they do."""

    async def wait_until_empty(self, window: Window, *, limit_s: float) -> bool:
        return await super().wait_until_empty(window, limit_s=limit_s) if limit_s else False


@pytest.mark.parametrize("limit_s", [0.0, 0.01])
async def test_an_attempt_that_is_cut_off_before_its_first_step_leaves_nothing_behind(limit_s: float) -> None:
    """A task cancelled before it ever ran still gives back its slot, its key and its place in the window."""
    bench = DispatchBench(holding=False)
    bench.dispatcher._drain = OverAtOnce()
    bench.target.holding = True
    for offset in range(3):
        bench.take(event_record(offset, aggregate_id="42" if offset < 2 else "43"))
    await bench.dispatcher.drain(limit_s=limit_s)
    bench.assert_nothing_leaks()
    bench.dispatcher.resume()
    bench.target.holding = False
    bench.take(event_record(3, aggregate_id="42"))
    await settled()
    assert bench.target.begun[-1].event.id == UUID(int=4)
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("limit_s", [0.0, 0.01, 0.2])
async def test_an_attempt_that_waits_for_the_lease_leaves_nothing_behind(limit_s: float) -> None:
    """It has not begun, so it is neither settled nor parked: the next owner makes it."""
    bench = DispatchBench(may_begin=lambda: False, holding=False)
    for offset in range(10):
        bench.take(event_record(offset))
    await settled()
    await bench.dispatcher.drain(limit_s=limit_s)
    assert bench.unsettled() == list(range(10))
    assert not bench.producer.groups
    bench.assert_nothing_leaks()


async def test_a_stop_during_a_rebalance_drains_to_its_own_end() -> None:
    """Two drains at once both end; records are taken again only when no drain is left."""
    bench = DispatchBench(holding=False)
    bench.target.holding = True
    bench.take(event_record(0))
    rebalance, stop = await draining(bench), await draining(bench)
    bench.target.answer()
    await rebalance
    await stop
    bench.assert_nothing_leaks()


async def test_what_is_settled_late_does_not_resurrect_what_was_left() -> None:
    """A record that was left to its next owner is never settled here, whatever else ends."""
    first, second = ScriptedTarget("ep_1", concurrency=1), ScriptedTarget("ep_2", concurrency=1)
    first.holding = second.holding = True
    bench = DispatchBench([first, second], holding=False)
    for offset in range(4):
        bench.take(event_record(offset))
    drain = await draining(bench)
    first.answer()
    second.answer()
    await drain
    assert bench.unsettled() == [1, 2, 3]
    assert bench.ledger.commit() is not None
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("seed", range(10))
async def test_any_drain_repeats_only_what_it_left_and_leaks_nothing(seed: int) -> None:
    """INV-8: whatever was under way, each record is either settled, with all its outcomes written, or never begun."""
    random = seeded(seed)
    outcomes: list[Outcome] = [Succeeded(), Failed(error="503"), Succeeded()]
    targets = [
        ScriptedTarget(f"ep_{number}", concurrency=random.randint(1, 3), outcome=outcome)
        for number, outcome in enumerate(outcomes)
    ]
    for target in targets:
        target.holding = random.random() < 0.7
    bench = DispatchBench(targets, holding=False)
    for offset in range(random.randint(1, 40)):
        bench.take(event_record(offset, aggregate_id=str(random.randrange(5))))
        if random.random() < 0.3:
            await settled()
            random.choice(targets).answer(random.randint(1, 3))
    drain = asyncio.ensure_future(bench.dispatcher.drain(limit_s=random.choice([0.0, 0.005, 0.02])))
    while not drain.done():
        await settled()
        if random.random() < 0.3:
            random.choice(targets).answer()
    await drain
    left = {offset + 1 for offset in bench.unsettled()}
    begun = {made.event.id.int for target in targets for made in target.begun}
    written = [attempt.delivery.event.id.int for attempt in bench.attempts]
    assert not left & begun
    assert not left & set(written)
    for number in begun:
        assert written.count(number) == len(targets)
    bench.assert_nothing_leaks()
