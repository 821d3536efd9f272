"""What a target can't be given soon is parked at no attempt, and keeps no other waiting (INV-6, CASES 7)."""

from collections import Counter

import pytest

from streams.dispatch.circuit import Circuit
from streams.dispatch.endpoint_gate import EndpointGate
from streams.records.next_hop import Retry
from streams.records.outcome import Deferred, Failed, Succeeded
from streams.records.wire import decode_delivery, header_map
from tests.support.dispatch_bench import DispatchBench, event_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


async def test_a_hanging_targets_turns_are_parked_without_an_attempt_and_another_targets_never_wait() -> None:
    """INV-6, CASES 7: deferrals cost no attempt, and the healthy target gets every event at once."""
    slow, healthy = ScriptedTarget("ep_slow", concurrency=2), ScriptedTarget("ep_fast", concurrency=2)
    slow.holding = True
    bench = DispatchBench([slow, healthy], holding=False)
    for offset in range(20):
        bench.take(event_record(offset))
        await settled()
    assert len(healthy.begun) == 20
    assert len(slow.begun) == 2
    bench.around.pass_s(3)
    await bench.producer.produced(20 + 18)
    parked = [attempt for attempt in bench.attempts if attempt.delivery.target == slow.name]
    assert bench.outcomes().count("Deferred") == len(parked) == 18
    for group in bench.producer.groups[20:]:
        record = group.records[1]
        delivery = decode_delivery(header_map(record.headers), key=record.key, value=record.value)
        assert (delivery.attempt, delivery.deferrals) == (1, 1)
        # Before one of those that hang has ended, it would only be put off again: 3 s is what they took so far.
        assert record.topic in {"outbox.retry-4s", "outbox.retry-8s"}
    await settled()
    assert bench.unsettled() == [0, 1]
    slow.answer(2)
    await settled()
    bench.assert_nothing_leaks()


async def test_nothing_is_attempted_while_a_circuit_is_open_and_then_one_at_a_time() -> None:
    """CASES 7: what is for an endpoint that is down is parked, at no attempt; a probe that is taken lets all in."""
    down = ScriptedTarget(
        "ep_1",
        outcome=Failed(error="503"),
        gate=EndpointGate(Circuit(on_change=lambda _: None)),
        concurrency=2,
    )
    bench = DispatchBench([down], holding=False)
    for offset in range(30):
        bench.take(event_record(offset))
        await settled()
        bench.around.pass_s(0.6)
    assert Counter(bench.outcomes()) == {"Failed": 15, "Deferred": 15}  # ten, and five probes
    deferred = [attempt.next_hop for attempt in bench.attempts if isinstance(attempt.outcome, Deferred)]
    assert {hop.delivery.attempt for hop in deferred if isinstance(hop, Retry)} == {1}
    bench.around.pass_s(60)
    down.holding, down.outcome = True, Succeeded()
    for offset in range(30, 33):
        bench.take(event_record(offset))
        await settled()
    assert len(down.running) == 1
    down.answer()
    await settled()
    bench.take(event_record(33))
    down.answer(2)
    await settled()
    bench.dispatcher._watch.look_at_all()
    down.answer(5)
    await settled()
    assert Counter(bench.outcomes())["Succeeded"] >= 2
    bench.assert_nothing_leaks()


async def test_a_fast_targets_backlog_is_never_parked() -> None:
    """INV-6: a thousand events for one healthy target are all attempted, none deferred."""
    bench = DispatchBench(holding=False)
    bench.target.holding = True
    for offset in range(1_000):
        bench.take(event_record(offset))
    await settled()
    while bench.target.running:
        bench.around.pass_s(0.05)
        bench.target.answer(4)
        await settled()
        bench.dispatcher._watch.look_at_all()
    assert Counter(bench.outcomes()) == {"Succeeded": 1_000}
    bench.assert_nothing_leaks()


async def test_a_target_that_is_rather_slow_may_not_take_the_whole_window() -> None:
    """INV-6: at half a second an attempt it is not slow by itself; with hundreds of turns it keeps others out."""
    rather_slow, healthy = ScriptedTarget("ep_1", concurrency=2), ScriptedTarget("ep_2", concurrency=2)
    bench = DispatchBench([rather_slow, healthy], holding=False)
    rather_slow.holding = True
    for offset in range(700):
        bench.take(event_record(offset))
        await settled()
        if offset % 50 == 0:
            bench.around.pass_s(0.5)
            rather_slow.answer(2)
    bench.around.pass_s(0.5)
    bench.dispatcher._watch.look_at_all()
    assert len(healthy.begun) == 700
    assert bench.window.open_turns < 500
    assert Counter(bench.outcomes())["Deferred"] > 100
    while bench.window.open_turns:
        rather_slow.answer(2)
        await settled()
    bench.assert_nothing_leaks()
