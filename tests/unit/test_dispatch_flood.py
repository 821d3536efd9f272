"""What would be a dead letter in a flood waits, is tried again, and is buried in the end if nothing else helps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from streams.records.delivery import Delivery
from streams.records.next_hop import DeadLetter, Retry
from streams.records.outcome import Deferred, ErrorCode, Outcome, Rejected, Succeeded
from streams.records.target import TargetName
from tests.support.deliveries import HANDLER_POLICY, NOW_MS, a_delivery
from tests.support.dispatch_bench import DispatchBench, event_record, redelivery_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")

NOT_FOUND = Rejected(code=ErrorCode.ENDPOINT_REJECTED, error="404", status=404)
HOUR_S = 3_600.0


def a_bench(outcome: Outcome, *, flood_share: float = 0.5, targets: int = 2) -> DispatchBench:
    scripted = [ScriptedTarget(f"ep_{number}", outcome=outcome) for number in range(targets)]
    return DispatchBench(scripted, holding=False, flood_share=flood_share)


async def take_events(bench: DispatchBench, number: int, *, first: int = 0) -> None:
    for offset in range(first, first + number):
        bench.take(event_record(offset))
        await settled()


def held(bench: DispatchBench) -> list[Retry]:
    """What was refused, and waits all the same."""
    return [
        attempt.next_hop
        for attempt in bench.attempts
        if isinstance(attempt.next_hop, Retry) and isinstance(attempt.outcome, Rejected)
    ]


def ends(bench: DispatchBench) -> Counter[str]:
    return Counter(type(attempt.next_hop).__name__ for attempt in bench.attempts)


async def come_back(bench: DispatchBench, deliveries: list[Delivery], *, first: int) -> None:
    for offset, delivery in enumerate(deliveries, first):
        bench.take(redelivery_record(offset, delivery))
        await settled()


async def test_a_flood_is_held_and_delivered_when_it_is_over() -> None:
    """CASES 35: few are buried; the others wait a minute or two at no attempt, and the next try delivers them."""
    bench = a_bench(NOT_FOUND)
    await take_events(bench, 200)
    assert ends(bench) == {"DeadLetter": 49, "Retry": 351}
    for hop in held(bench):
        assert (hop.delivery.attempt, hop.delivery.deferrals, hop.delivery.held_since_ms) == (1, 1, NOW_MS)
        assert 60_000 <= (hop.not_before_ms or hop.due_at_ms) - NOW_MS <= 120_000
        assert "would be ENDPOINT_REJECTED: 404" in hop.error
    assert [sign.state for sign in bench.floods] == ["opened"]

    bench.around.pass_s(120)
    for target in bench.targets:
        target.outcome = Succeeded(status=204)
    await come_back(bench, [hop.delivery for hop in held(bench)], first=200)
    assert ends(bench) == {"DeadLetter": 49, "Retry": 351, "Done": 351}
    assert [sign.state for sign in bench.floods] == ["opened", "closed"]
    assert bench.floods[1].held == 351
    assert bench.unsettled() == []
    bench.assert_nothing_leaks()


async def test_what_dies_after_the_flood_is_buried_as_ever() -> None:
    bench = a_bench(NOT_FOUND)
    await take_events(bench, 100)
    bench.around.pass_s(120)
    for target in bench.targets:
        target.outcome = Succeeded()
    await take_events(bench, 100, first=100)
    bench.targets[0].outcome = NOT_FOUND
    before = ends(bench)["DeadLetter"]
    await take_events(bench, 5, first=200)
    assert ends(bench)["DeadLetter"] == before + 5


async def test_nothing_is_held_for_ever() -> None:
    """INV-1: held again and again, each wait about as long as all before it; after twelve hours it is a dead letter."""
    bench = a_bench(NOT_FOUND)
    await take_events(bench, 100)
    delivery, waits_s = held(bench)[0].delivery, []
    for offset in range(100, 300):
        await come_back(bench, [delivery], first=offset)
        waits = bench.attempts[-1].next_hop
        if not isinstance(waits, Retry):
            break
        waits_s.append(((waits.not_before_ms or waits.due_at_ms) - bench.around.clock_ms()) / 1_000)
        bench.around.pass_s(waits_s[-1])
        delivery = waits.delivery
    end = bench.attempts[-1].next_hop
    assert isinstance(end, DeadLetter)
    assert 12 * HOUR_S <= sum(waits_s) <= 12.5 * HOUR_S
    assert max(waits_s) <= 900
    assert len(waits_s) < 150
    assert (end.code, end.error) == (ErrorCode.ENDPOINT_REJECTED, "404")
    assert end.delivery.attempt == 1
    told = [sign.state for sign in bench.floods]
    assert told == ["opened"] + ["holding"] * (len(told) - 1)


async def test_age_and_used_up_attempts_are_held_as_well() -> None:
    """A resolver that was down for longer than the greatest age: the attempt after it delivers."""
    bench = a_bench(NOT_FOUND)
    await take_events(bench, 100)
    old = a_delivery(
        target=TargetName("endpoint", "ep_0"),
        attempt=HANDLER_POLICY.max_attempts,
        first_failed_at_ms=NOW_MS - 100 * 24 * 3_600_000,
        deferrals=40,
    )
    await come_back(bench, [old], first=100)
    hop = bench.attempts[-1].next_hop
    assert isinstance(hop, Retry)
    assert hop.delivery == replace(old, deferrals=41, held_since_ms=NOW_MS)


async def test_what_was_held_is_owed_an_attempt_though_the_guard_has_closed() -> None:
    """Its age is used up, and a rate limit or a full queue puts it off: that is no attempt, and not its end."""
    bench = a_bench(Succeeded())
    await take_events(bench, 20)
    bench.targets[0].outcome = Deferred(reason="the endpoint's rate limit is reached")
    old = a_delivery(
        target=TargetName("endpoint", "ep_0"), first_failed_at_ms=NOW_MS - 100 * 24 * 3_600_000, deferrals=7
    )
    await come_back(bench, [old, replace(old, deferrals=8, held_since_ms=NOW_MS)], first=20)
    never_held, was_held = (attempt.next_hop for attempt in bench.attempts[-2:])
    assert isinstance(never_held, DeadLetter)
    assert isinstance(was_held, Retry)
    assert (was_held.delivery.attempt, was_held.delivery.held_since_ms) == (1, NOW_MS)

    bench.around.pass_s(12 * HOUR_S)
    await come_back(bench, [was_held.delivery], first=22)
    assert isinstance(bench.attempts[-1].next_hop, DeadLetter)


async def test_a_restart_in_a_flood_buries_nothing_that_was_held() -> None:
    """A worker that begins knows nothing of the flood; what comes back and dies again says enough to hold it on."""
    before = a_bench(NOT_FOUND)
    await take_events(before, 100)
    after = a_bench(NOT_FOUND)
    await come_back(after, [hop.delivery for hop in held(before)[:40]], first=0)
    assert ends(after) == {"Retry": 40}
    await take_events(after, 1, first=40)
    assert ends(after) == {"Retry": 40, "DeadLetter": 2}


@pytest.mark.parametrize("code", [ErrorCode.ENDPOINT_GONE, ErrorCode.EVENT_MALFORMED])
async def test_what_no_time_heals_is_buried_and_opens_nothing(code: str) -> None:
    """A receiver that says that it is gone, and an event that fits into no request."""
    bench = a_bench(Rejected(code=code, error="never"))
    await take_events(bench, 100)
    assert ends(bench) == {"DeadLetter": 200}
    assert bench.floods == []
    for target in bench.targets:
        target.outcome = NOT_FOUND
    await take_events(bench, 100, first=100)
    for target in bench.targets:
        target.outcome = Rejected(code=code, error="never")
    before = ends(bench)["DeadLetter"]
    await take_events(bench, 5, first=200)
    assert ends(bench)["DeadLetter"] == before + 10


async def test_one_broken_endpoint_of_three_holds_nothing() -> None:
    """Its customer's matter: what it refuses is a dead letter at once."""
    bench = a_bench(Succeeded(), targets=3)
    bench.targets[0].outcome = NOT_FOUND
    await take_events(bench, 300)
    assert ends(bench) == {"DeadLetter": 300, "Done": 600}
    assert bench.floods == []
