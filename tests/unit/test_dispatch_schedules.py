"""Dispatch under any order of arrivals, answers, acknowledgements and time."""

import pytest

from streams.records.outcome import ErrorCode, Failed, Outcome, Rejected, Succeeded
from tests.support.chance import seeded
from tests.support.dispatch_bench import DispatchBench, event_record, settled
from tests.support.scripted_target import ScriptedTarget

pytestmark = pytest.mark.usefixtures("log_lines")


@pytest.mark.parametrize("seed", range(8))
async def test_no_turn_leaks_under_any_schedule(seed: int) -> None:
    """Whatever the order of arrivals, answers, acknowledgements and time: every offset settles, every turn closes."""
    random = seeded(seed)
    outcomes: list[Outcome | BaseException] = [
        Succeeded(),
        Failed(error="503"),
        Rejected(code=ErrorCode.ENDPOINT_GONE, error="410"),
        ValueError("a defect"),
    ]
    targets = [
        ScriptedTarget(f"ep_{number}", concurrency=random.randint(1, 4), outcome=outcome)
        for number, outcome in enumerate(outcomes)
    ]
    for target in targets:
        target.holding = True
    bench = DispatchBench(targets)
    offset = 0
    for _ in range(300):
        match random.randrange(5):
            case 0 | 1:
                bench.take(event_record(offset, aggregate_id=str(random.randrange(6))))
                offset += 1
            case 2:
                random.choice(targets).answer(random.randint(1, 3))
            case 3 if bench.producer.waiting:
                bench.producer.ack(random.choice(bench.producer.waiting))
            case _:
                bench.around.pass_s(random.random())
                bench.dispatcher._watch.look_at_all()
        if random.random() < 0.5:
            await settled()
    while bench.window.open_turns:
        for target in targets:
            target.answer(4)
        await settled()
        bench.producer.ack_all()
    assert bench.unsettled() == []
    assert all(len(target.begun) <= offset for target in targets)
    bench.assert_nothing_leaks()
    assert bench.ledger.commit() is not None
