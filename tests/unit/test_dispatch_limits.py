"""Limits of an endpoint in the dispatcher: what can't be attempted soon waits elsewhere, and holds nobody up."""

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import count

import pytest

from streams.dispatch.circuit import Circuit
from streams.dispatch.endpoint_gate import EndpointGate
from streams.dispatch.rate_limit import RateLimit
from streams.records.attempt import Attempt
from streams.records.delivery import Delivery
from streams.records.next_hop import Retry
from streams.records.outcome import Deferred, Failed
from tests.support.chance import seeded
from tests.support.deliveries import NOW_MS, a_delivery
from tests.support.dispatch_bench import DispatchBench, event_record, redelivery_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


def paced(per_s: float) -> EndpointGate:
    return EndpointGate(Circuit(on_change=lambda _: None), RateLimit(per_s, now_s=0.0))


def deferred(bench: DispatchBench) -> list[Attempt]:
    return [attempt for attempt in bench.attempts if isinstance(attempt.outcome, Deferred)]


async def test_what_a_rate_limit_holds_up_is_parked_and_costs_no_attempt() -> None:
    """CASES 6: of thirty events for an endpoint that takes one a minute one is sent; the others have a minute each."""
    bench = DispatchBench([ScriptedTarget("ep_1", gate=paced(1 / 60))], holding=False)
    for offset in range(30):
        bench.take(event_record(offset))
        await settled()
    assert Counter(bench.outcomes()) == {"Succeeded": 1, "Deferred": 29}
    hops = [attempt.next_hop for attempt in deferred(bench)]
    retries = [hop for hop in hops if isinstance(hop, Retry)]
    assert len(retries) == 29
    assert {(hop.delivery.attempt, hop.delivery.deferrals) for hop in retries} == {(1, 1)}
    assert [hop.delivery.booked_for_ms for hop in retries] == [NOW_MS + 60_000 * n for n in range(1, 30)]
    assert all(
        0.84 * 60_000 * n <= hop.due_at_ms - NOW_MS <= min(60_000 * n - 500, 900_000)
        for n, hop in enumerate(retries[:14], start=1)
    )
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_a_delivery_that_comes_back_is_attempted_when_it_is_booked() -> None:
    """CASES 6: too early, it waits the rest; then it is attempted, the first time, though newcomers stand in line."""
    target = ScriptedTarget("ep_1", gate=paced(1 / 60))
    bench = DispatchBench([target], holding=False)
    for offset in range(3):
        bench.take(event_record(offset))
    await settled()
    parked = parked_deliveries(bench)[0]
    bench.around.pass_s(55)
    bench.take(redelivery_record(3, parked))
    await settled()
    again = parked_deliveries(bench)[-1]
    assert (again.booked_for_ms, again.deferrals, again.attempt) == (parked.booked_for_ms, 2, 1)
    bench.around.pass_s(5)
    bench.take(event_record(4))
    bench.take(redelivery_record(5, again))
    await settled()
    assert [delivery.event.id.int for delivery in target.begun] == [1, 2]
    bench.assert_nothing_leaks()


async def test_a_booking_is_used_up_by_an_attempt() -> None:
    """The retry of a failed one is a newcomer to the line: its wait is its backoff's."""
    target = ScriptedTarget("ep_1", gate=paced(1.0), outcome=Failed(error="503"))
    bench = DispatchBench([target], holding=False)
    bench.take(redelivery_record(0, a_delivery(deferrals=3, booked_for_ms=NOW_MS)))
    await settled()
    [hop] = [attempt.next_hop for attempt in bench.attempts]
    assert isinstance(hop, Retry)
    assert (hop.delivery.attempt, hop.delivery.booked_for_ms) == (2, None)


async def test_what_waits_a_moment_for_its_token_waits_here_and_in_order() -> None:
    """Within the bound nothing is parked: the next begins when the next token is there, and no sooner."""
    target = ScriptedTarget("ep_1", gate=paced(2.0), concurrency=100)
    bench = DispatchBench([target], holding=False)
    for offset in range(4):
        bench.take(event_record(offset))
    await settled()
    assert [len(target.begun), bench.window.open_turns] == [2, 2]
    for _ in range(2):
        bench.around.pass_s(0.4)
        bench.dispatcher._watch.look_at_all()
        await settled()
        before = len(target.begun)
        bench.around.pass_s(0.1)
        bench.dispatcher._watch.look_at_all()
        await settled()
        assert len(target.begun) == before + 1
    assert [delivery.event.id.int for delivery in target.begun] == [1, 2, 3, 4]
    assert not deferred(bench)
    bench.assert_nothing_leaks()


async def test_a_newcomer_does_not_take_the_token_of_who_waits_here() -> None:
    """Of two keys, the one that came first goes first, though the token was there when the second came."""
    target = ScriptedTarget("ep_1", gate=paced(1.0))
    bench = DispatchBench([target], holding=False)
    for offset in range(2):
        bench.take(event_record(offset))
    bench.around.pass_s(1.0)
    bench.take(event_record(2))
    await settled()
    assert [delivery.event.id.int for delivery in target.begun] == [1, 2]
    bench.around.pass_s(1.0)
    bench.dispatcher._watch.look_at_all()
    await settled()
    bench.assert_nothing_leaks()


async def test_a_timer_begins_what_waits_for_a_token() -> None:
    """No record and no answer needs to come for it: a limit of two hundred a second is not one of ten."""
    target = ScriptedTarget("ep_1", concurrency=1_000)
    bench = DispatchBench([target], holding=False)
    clock = asyncio.get_running_loop().time
    bench.around.monotonic_s = clock  # type: ignore[method-assign]  # the loop's own, as its timers go by it
    target.gate = EndpointGate(Circuit(on_change=lambda _: None), RateLimit(200.0, now_s=clock()))
    for offset in range(300):
        bench.take(event_record(offset))
    # The round every tenth of a second is called off: the alarms alone have to do it.
    sweep = bench.dispatcher._watch._timer
    assert sweep is not None
    sweep.cancel()
    await bench.all_closed()
    assert Counter(bench.outcomes()) == {"Succeeded": 300}
    bench.assert_nothing_leaks()
    assert not bench.dispatcher._watch._alarms


async def test_a_backlog_for_limited_endpoints_leaves_room_to_others() -> None:
    """INV-6: one may take a third of the window, and twenty of them not all of it; the healthy one is never held up."""
    targets = [ScriptedTarget(f"ep_{n}", gate=paced(1_000.0), concurrency=1_000) for n in range(20)]
    healthy = ScriptedTarget("ep_healthy")
    for gone in targets:
        for _ in range(1_000):
            gone.gate.began(now_s=0.0)
    bench = DispatchBench([*targets, healthy], holding=False)
    most = 0
    for offset in range(500):
        bench.take(event_record(offset))
        await settled()
        most = max(most, bench.window.open_turns)
        assert not bench.window.full
    assert len(healthy.begun) == 500
    assert not any(target.begun for target in targets)
    alone = DispatchBench([targets[0]], holding=False)
    for offset in range(2_000):
        alone.take(event_record(offset))
    await settled()
    assert alone.window.open_turns <= 1_000 // 3 + 1
    for finished in (bench, alone):
        finished.around.pass_s(10)
        finished.dispatcher._watch.look_at_all()
        await finished.all_closed()
        finished.assert_nothing_leaks()


async def test_an_endpoint_with_a_concurrency_limit_does_not_take_the_window_either() -> None:
    """INV-6: its attempts are fast, and it takes one at a time: what it can't take within the bound is parked."""
    limited = ScriptedTarget("ep_1", concurrency=1, limited=True)
    healthy = ScriptedTarget("ep_2")
    bench = DispatchBench([limited, healthy], holding=False)
    limited.holding = True
    most = 0
    for offset in range(2_000):
        bench.take(event_record(offset))
        if offset % 2 == 0:
            await settled()
            bench.around.pass_s(0.02)
            limited.answer()
        most = max(most, bench.window.open_turns)
    await settled()
    assert len(healthy.begun) == 2_000
    assert most < 500
    assert {
        attempt.outcome.reason for attempt in deferred(bench) if isinstance(attempt.outcome, Deferred)
    } == {"the target's concurrency is limited and its queue is long"}
    while bench.window.open_turns:
        limited.answer()
        await settled()
    bench.assert_nothing_leaks()


async def test_a_lowered_limit_parks_what_waits_and_leaves_what_runs() -> None:
    """It holds from the record on."""
    limit = RateLimit(10.0, now_s=0.0)
    target = ScriptedTarget(
        "ep_1", gate=EndpointGate(Circuit(on_change=lambda _: None), limit), concurrency=100
    )
    target.holding = True
    bench = DispatchBench([target], holding=False)
    for offset in range(20):
        bench.take(event_record(offset))
    await settled()
    assert (len(target.running), bench.window.open_turns) == (10, 20)
    limit.change(1 / 60, now_s=0.0)
    bench.dispatcher._watch.look_at_all()
    await settled()
    assert (len(target.running), len(deferred(bench))) == (10, 10)
    booked = [delivery.booked_for_ms for delivery in parked_deliveries(bench)]
    assert booked == [NOW_MS + 60_000 * n for n in range(1, 11)]
    target.answer(10)
    await settled()
    bench.assert_nothing_leaks()


async def test_nothing_is_parked_for_a_limit_while_the_lease_is_not_held() -> None:
    """INV-8: it may be the next owner's already, who makes the attempt."""
    lease = {"held": True}
    bench = DispatchBench(
        [ScriptedTarget("ep_1", gate=paced(1 / 60))], holding=False, may_begin=lambda: lease["held"]
    )
    bench.take(event_record(0))
    await settled()
    lease["held"] = False
    bench.take(event_record(1))
    bench.dispatcher._watch.look_at_all()
    await settled()
    assert (bench.outcomes(), bench.unsettled()) == (["Succeeded"], [1])
    lease["held"] = True
    bench.dispatcher._watch.look_at_all()
    await settled()
    assert (bench.outcomes(), bench.unsettled()) == (["Succeeded", "Deferred"], [])
    bench.assert_nothing_leaks()


@pytest.mark.parametrize("seed", range(6))
async def test_no_turn_leaks_under_any_schedule_of_limits(seed: int) -> None:
    """Arrivals, answers, time, changed limits, and deliveries that come back, in any order: every turn ends."""
    random = seeded(seed)
    limits = [RateLimit(rate, now_s=0.0) for rate in (0.5, 5.0, 50.0)]
    targets = [
        ScriptedTarget(
            f"ep_{n}", gate=EndpointGate(Circuit(on_change=lambda _: None), limit), concurrency=n + 1
        )
        for n, limit in enumerate(limits)
    ]
    bench = DispatchBench(targets, holding=False)
    for target in targets:
        target.holding = True
    offsets = count()

    def arrive() -> None:
        bench.take(event_record(next(offsets), aggregate_id=str(random.randrange(6))))

    def come_back() -> None:
        for delivery in random.sample(parked_deliveries(bench), k=min(1, len(deferred(bench)))):
            offset = next(offsets)
            bench.take(redelivery_record(offset, replace(delivery, replay_id=str(offset))))

    def pass_time() -> None:
        bench.around.pass_s(random.random())
        bench.dispatcher._watch.look_at_all()

    def change() -> None:
        random.choice(limits).change(random.choice([0.1, 1.0, 20.0]), now_s=bench.around.monotonic_s())

    def answer() -> None:
        random.choice(targets).answer(random.randint(1, 3))

    for _ in range(400):
        random.choice([arrive, arrive, answer, come_back, change, pass_time])()
        if random.random() < 0.5:
            await settled()
    await let_all_end(bench)
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def let_all_end(bench: DispatchBench) -> None:
    while bench.window.open_turns:
        for target in bench.targets:
            target.answer(4)
        bench.around.pass_s(0.5)
        bench.dispatcher._watch.look_at_all()
        await settled()


def parked_deliveries(bench: DispatchBench) -> list[Delivery]:
    hops = [attempt.next_hop for attempt in deferred(bench)]
    return [hop.delivery for hop in hops if isinstance(hop, Retry)]
