"""Calling handlers: whatever they raise, however they hang, nothing of it reaches the agent's loop."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from outbox.errors import PermanentError
from outbox.event import Event
from streams.dispatch import handler_calls
from streams.dispatch.handler_calls import Call, Raised
from tests.support.deliveries import an_event
from tests.support.handler_bench import HandlerBench, a_handler

EVENT = an_event()
ANSWER_S = 30.0


@pytest.fixture
def bench() -> Iterator[HandlerBench]:
    made = HandlerBench()
    yield made
    made.close()


@pytest.fixture
def soon_blocked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop counts as blocked almost at once."""
    monkeypatch.setattr(handler_calls, "_BLOCKED_AFTER_S", 0.0)


def begun(bench: HandlerBench, function: Any) -> Call:
    return bench.calls.start(a_handler(function), EVENT)


def raised(call: Call) -> BaseException:
    found = call.ended.result(ANSWER_S)
    assert isinstance(found, Raised)
    return found.exception


def test_a_plain_function_runs_in_a_thread_of_its_own(bench: HandlerBench) -> None:
    """It may block as it likes; and it gets the event itself."""
    seen: list[tuple[Event, threading.Thread]] = []
    call = begun(bench, lambda event: seen.append((event, threading.current_thread())))
    assert call.ended.result(ANSWER_S) is None
    ((event, thread),) = seen
    assert event is EVENT
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_coroutines_share_one_loop(bench: HandlerBench) -> None:
    """Handlers may share clients and pools, which belong to a loop."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def handle(_: Event) -> None:
        loops.append(asyncio.get_running_loop())

    for _ in range(3):
        assert begun(bench, handle).ended.result(ANSWER_S) is None
    assert len(set(loops)) == 1


EXCEPTIONS = [
    SystemExit(3),
    KeyboardInterrupt(),
    asyncio.CancelledError(),
    GeneratorExit(),
    StopIteration(),
    StopAsyncIteration(),
    MemoryError(),
    BaseException("of its own"),
    ValueError("as usual"),
]


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda exception: type(exception).__name__)
def test_whatever_a_handler_raises_comes_back_as_a_value(
    bench: HandlerBench, exception: BaseException
) -> None:
    """A handler that raises anything never stops the agent, nor the loop that the others run on."""

    def plain(_: Event) -> None:
        raise exception

    async def coroutine(_: Event) -> None:
        raise exception

    async def fine(_: Event) -> None: ...

    assert raised(begun(bench, plain)) is exception
    found = raised(begun(bench, coroutine))
    assert found is exception or found.__cause__ is exception  # Python wraps a coroutine's StopIteration
    assert begun(bench, fine).ended.result(ANSWER_S) is None
    assert len(bench.calls._loops) == 1


def test_what_a_handler_leaves_behind_on_the_loop_does_not_end_it(bench: HandlerBench) -> None:
    """A callback that raises SystemExit, or a loop that is told to stop: the other handlers are still on it."""

    async def leaves_a_bomb(_: Event) -> None:
        def explode() -> None:
            raise SystemExit(1)

        asyncio.get_running_loop().call_soon(explode)

    async def stops_the_loop(_: Event) -> None:
        asyncio.get_running_loop().stop()

    async def two_steps(_: Event) -> None:
        await asyncio.sleep(0)

    for function in (leaves_a_bomb, stops_the_loop, two_steps):
        assert begun(bench, function).ended.result(ANSWER_S) is None
    assert begun(bench, two_steps).ended.result(ANSWER_S) is None


@pytest.mark.usefixtures("soon_blocked")
def test_other_coroutines_run_while_one_blocks_the_loop(bench: HandlerBench) -> None:
    """INV-6: a handler that blocks the loop delays nobody else's events."""
    gate = bench.gate()

    async def blocks(_: Event) -> None:
        gate.wait()

    async def fine(_: Event) -> None: ...

    blocked = begun(bench, blocks)
    assert gate.reached.wait(ANSWER_S)
    behind = begun(bench, fine)
    assert begun(bench, fine).ended.result(ANSWER_S) is None
    assert not blocked.ended.done()
    assert not behind.ended.done()
    gate.open()
    assert blocked.ended.result(ANSWER_S) is None
    assert behind.ended.result(ANSWER_S) is None


@pytest.mark.usefixtures("soon_blocked")
def test_a_second_blocked_loop_is_no_end_either(bench: HandlerBench) -> None:
    """INV-6: a blocking handler is retried, and blocks the spare too; the others go on all the same."""
    gates = [bench.gate() for _ in range(3)]

    async def fine(_: Event) -> None: ...

    for gate in gates:

        async def blocks(_: Event, *, here: Any = gate) -> None:
            here.wait()

        begun(bench, blocks)
        assert gate.reached.wait(ANSWER_S)
        begun(bench, fine)
    assert begun(bench, fine).ended.result(ANSWER_S) is None


@pytest.mark.usefixtures("soon_blocked")
def test_a_loop_that_answers_again_is_used_again(bench: HandlerBench) -> None:
    """Spare loops are for as long as they are needed: clients belong to the first."""
    gate, loops = bench.gate(), []

    async def blocks(_: Event) -> None:
        loops.append(asyncio.get_running_loop())
        gate.wait()

    async def fine(_: Event) -> None:
        loops.append(asyncio.get_running_loop())

    begun(bench, blocks)
    assert gate.reached.wait(ANSWER_S)
    behind = begun(bench, fine)
    assert begun(bench, fine).ended.result(ANSWER_S) is None
    gate.open()
    assert behind.ended.result(ANSWER_S) is None
    assert begun(bench, fine).ended.result(ANSWER_S) is None
    first, spare, *rest = loops
    assert spare is not first
    assert rest == [first, first]


def test_a_coroutine_can_be_cancelled(bench: HandlerBench) -> None:
    """It may clean up; what comes back is the CancelledError, as a value."""
    started, cleaned = threading.Event(), threading.Event()

    async def hangs(_: Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    call = begun(bench, hangs)
    assert started.wait(ANSWER_S)
    call.cancel()
    assert isinstance(raised(call), asyncio.CancelledError)
    assert cleaned.is_set()


@pytest.mark.usefixtures("soon_blocked")
def test_a_call_that_is_cancelled_before_it_began_ends_too(bench: HandlerBench) -> None:
    """Cancelled while it waits behind a blocked loop: it never runs, and is not counted as hanging for ever."""
    gate, ran = bench.gate(), threading.Event()

    async def blocks(_: Event) -> None:
        gate.wait()

    async def behind(_: Event) -> None:
        ran.set()

    begun(bench, blocks)
    assert gate.reached.wait(ANSWER_S)
    call = begun(bench, behind)
    call.cancel()
    gate.open()
    assert isinstance(raised(call), asyncio.CancelledError)
    assert not ran.is_set()


def test_cancelling_a_plain_function_changes_nothing(bench: HandlerBench) -> None:
    """A thread can't be asked to end."""
    gate = bench.gate()
    call = begun(bench, lambda _: gate.wait())
    assert gate.reached.wait(ANSWER_S)
    call.cancel()
    gate.open()
    assert call.ended.result(ANSWER_S) is None


def test_a_plain_function_that_returns_a_coroutine_has_handled_nothing(bench: HandlerBench) -> None:
    """A decorator that hides an `async def` would make every event a silent success."""

    async def coroutine(_: Event) -> None: ...

    def hidden(event: Event) -> object:
        return coroutine(event)

    assert isinstance(raised(begun(bench, hidden)), PermanentError)


def test_closing_does_not_wait_for_a_call_that_hangs(bench: HandlerBench) -> None:
    """A stuck handler never holds up a stop; closing twice, and cancelling after that, is nothing."""
    gate = bench.gate()

    async def fine(_: Event) -> None: ...

    stuck, ended = begun(bench, lambda _: gate.wait()), begun(bench, fine)
    assert gate.reached.wait(ANSWER_S)
    assert ended.ended.result(ANSWER_S) is None
    for _ in range(2):
        bench.calls.close()
    for loop in bench.calls._loops:
        loop.thread.join()
    ended.cancel()
    assert not stuck.ended.done()


def test_closing_lets_what_still_runs_clean_up(bench: HandlerBench) -> None:
    """A coroutine that is under way at the end is cancelled, as it would be at the end of any loop."""
    started, cleaned = threading.Event(), threading.Event()

    async def hangs(_: Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    call = begun(bench, hangs)
    assert started.wait(ANSWER_S)
    bench.calls.close()
    assert isinstance(raised(call), asyncio.CancelledError)
    assert cleaned.is_set()
