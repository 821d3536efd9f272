"""A handler as a target: its timeout, what its exceptions mean, and that nothing it does leaks."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from outbox.errors import PayloadNotJsonError, PermanentError, TemporaryError
from outbox.event import Event
from streams.dispatch.handler_target import HandlerTarget
from streams.records.outcome import Deferred, ErrorCode, Failed, Outcome, Rejected, Succeeded
from tests.support.deliveries import a_delivery, an_event
from tests.support.handler_bench import HandlerBench

SOON = timedelta(milliseconds=20)
DELIVERY = a_delivery(event=an_event(payload=b"card 4111-1111"))


@pytest.fixture
def bench() -> Iterator[HandlerBench]:
    made = HandlerBench()
    yield made
    made.close()


class UnspeakableError(PermanentError):
    def __str__(self) -> str:
        raise SystemExit(1)


class HastyError(TemporaryError):
    def __init__(self) -> None:
        """Without the base class's."""


class GarbledError(TemporaryError):
    def __init__(self) -> None:
        super().__init__("soon")
        self.retry_after = "in a while"  # type: ignore[assignment]  # as untyped code would


async def outcome_of(bench: HandlerBench, exception: BaseException) -> Outcome:
    def handle(_: Event) -> None:
        raise exception

    return await bench.target(handle).attempt(DELIVERY)


async def until_none_is_abandoned(target: HandlerTarget) -> None:
    while target._abandoned:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)


async def test_a_handler_that_returns_has_succeeded(bench: HandlerBench) -> None:
    """Plain or async, whatever it returns."""

    async def coroutine(event: Event) -> bytes:
        return event.payload

    assert await bench.target(lambda event: event.payload).attempt(DELIVERY) == Succeeded()
    assert await bench.target(coroutine).attempt(DELIVERY) == Succeeded()


@pytest.mark.parametrize(
    ("exception", "outcome"),
    [
        (
            PermanentError("no such customer"),
            Rejected(code=ErrorCode.HANDLER_PERMANENT_FAILURE, error="PermanentError: no such customer"),
        ),
        (PermanentError(), Rejected(code=ErrorCode.HANDLER_PERMANENT_FAILURE, error="PermanentError")),
        (
            PayloadNotJsonError("not JSON"),
            Rejected(code=ErrorCode.HANDLER_PERMANENT_FAILURE, error="PayloadNotJsonError: not JSON"),
        ),
        (
            UnspeakableError("hush"),
            Rejected(
                code=ErrorCode.HANDLER_PERMANENT_FAILURE, error="UnspeakableError, whose text can't be made"
            ),
        ),
        (TemporaryError("locked"), Failed(error="TemporaryError: locked")),
        (
            TemporaryError("locked", retry_after=2.5),
            Failed(error="TemporaryError: locked", retry_after=timedelta(seconds=2.5)),
        ),
        (GarbledError(), Failed(error="GarbledError: soon")),
        (HastyError(), Failed(error="HastyError")),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_what_an_exception_means(
    bench: HandlerBench, exception: BaseException, outcome: Outcome
) -> None:
    """CASES 1, CASES 8: permanent ends at once, temporary is retried no sooner than it asks, whatever a subclass is."""
    assert await outcome_of(bench, exception) == outcome


@pytest.mark.parametrize(
    "exception",
    [ValueError("card 4111-1111"), SystemExit("card 4111-1111"), asyncio.CancelledError("card 4111-1111")],
    ids=lambda exception: type(exception).__name__,
)
async def test_an_unexpected_exception_is_told_by_type_and_place_only(
    bench: HandlerBench, exception: BaseException
) -> None:
    """INV-9: its text may hold the payload, so it is not recorded; the place is enough to find it."""
    outcome = await outcome_of(bench, exception)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith(f"{type(exception).__name__} at test_handler_target.py:")
    assert "4111" not in repr(outcome)


async def test_an_exception_without_a_trace_is_told_by_its_type() -> None:
    """Nothing is raised while an exception is described."""
    bench = HandlerBench()
    outcome = await outcome_of(bench, RecursionError())
    bench.close()
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("RecursionError")


async def test_a_handler_that_hangs_has_failed_after_its_timeout(bench: HandlerBench) -> None:
    """Plain and async alike; the plain one's thread is counted until it really ends."""
    gate = bench.gate()

    async def hangs(_: Event) -> None:
        await asyncio.Event().wait()

    plain, coroutine = bench.target(lambda _: gate.wait(), timeout=SOON), bench.target(hangs, timeout=SOON)
    assert await plain.attempt(DELIVERY) == Failed(error="no answer within 0.02 s")
    assert await coroutine.attempt(DELIVERY) == Failed(error="no answer within 0.02 s")
    assert plain._abandoned == 1
    gate.open()
    await until_none_is_abandoned(plain)
    await until_none_is_abandoned(coroutine)


async def test_calls_that_hang_beyond_their_timeout_hold_their_slots(bench: HandlerBench) -> None:
    """A handler that hangs for ever takes `concurrency` threads and no more; its events wait without an attempt."""
    gate = bench.gate()
    target = bench.target(lambda _: gate.wait(), timeout=SOON, concurrency=2)
    assert [type(await target.attempt(DELIVERY)) for _ in range(3)] == [Failed, Failed, Deferred]
    assert sum(thread.name == "outbox-handler-h" for thread in threading.enumerate()) == 2
    gate.open()
    await until_none_is_abandoned(target)
    assert await target.attempt(DELIVERY) == Succeeded()


async def test_a_cut_off_attempt_cancels_the_coroutine_and_is_counted_until_it_ends(
    bench: HandlerBench,
) -> None:
    """INV-8: the CancelledError leaves, as the dispatcher expects, and the handler is told to end."""
    started, ended = threading.Event(), threading.Event()

    async def hangs(_: Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    target = bench.target(hangs)
    attempt = asyncio.ensure_future(target.attempt(DELIVERY))
    await asyncio.to_thread(started.wait)
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    await asyncio.to_thread(ended.wait)
    await until_none_is_abandoned(target)


async def test_a_cut_off_plain_function_is_counted_until_it_ends(bench: HandlerBench) -> None:
    """Its thread can't be ended, and still holds a slot."""
    gate = bench.gate()
    target = bench.target(lambda _: gate.wait(), concurrency=1)
    attempt = asyncio.ensure_future(target.attempt(DELIVERY))
    await asyncio.to_thread(gate.reached.wait)
    attempt.cancel()
    with pytest.raises(asyncio.CancelledError):
        await attempt
    assert isinstance(await target.attempt(DELIVERY), Deferred)
    gate.open()
    await until_none_is_abandoned(target)


async def test_an_attempt_that_was_answered_as_it_was_cut_off_is_answered(bench: HandlerBench) -> None:
    """INV-8: only what is still unanswered at the drain limit may be repeated."""
    done = threading.Event()
    target = bench.target(lambda _: done.set())
    attempt = asyncio.ensure_future(target.attempt(DELIVERY))
    await asyncio.sleep(0)
    done.wait()
    while any(thread.name == "outbox-handler-h" for thread in threading.enumerate()):
        pass  # the loop must not run, or it would hear of the end
    attempt.cancel()
    assert await attempt == Succeeded()
    assert target._abandoned == 0


async def test_many_attempts_at_once_are_all_answered(bench: HandlerBench) -> None:
    """Nothing is mixed up between threads and loops."""
    seen: list[bytes] = []

    async def coroutine(event: Event) -> None:
        await asyncio.sleep(0)
        seen.append(event.payload)

    targets = [
        bench.target(coroutine, name="a"),
        bench.target(lambda event: seen.append(event.payload), name="p"),
    ]
    deliveries = [a_delivery(event=an_event(payload=b"%d" % number)) for number in range(50)]
    outcomes = await asyncio.gather(
        *(target.attempt(delivery) for delivery in deliveries for target in targets)
    )
    assert outcomes == [Succeeded()] * 100
    assert sorted(seen) == sorted(2 * [delivery.event.payload for delivery in deliveries])
