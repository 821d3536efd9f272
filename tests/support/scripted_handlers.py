"""Handlers for the worker under test: what one does is said by the event's type, `handled.<what>`.

Loaded by the worker with `--handlers`, as an application's module is. What a handler did is seen in `outbox.attempts`.
"""

import asyncio
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

from outbox import Event, PermanentError, TemporaryError, handlers

__all__: list[str] = []

_seen: Counter[str] = Counter()
_for_ever = threading.Event()


@handlers.on("handled.well")
async def takes_it(event: Event) -> None:
    assert event.json()["mark"]


@handlers.on("handled.well", name="in-a-thread")
def takes_it_in_a_thread(event: Event) -> None:
    assert event.json()["mark"]


@handlers.on("handled.third-time", name="third-time")
async def takes_it_the_third_time(event: Event) -> None:
    _seen[str(event.id)] += 1
    if _seen[str(event.id)] < 3:
        raise TemporaryError("not yet")


@handlers.on("handled.never", name="never")
async def never_takes_it(event: Event) -> None:
    raise RuntimeError(f"what a defect says may quote {event.payload.decode()}")


@handlers.on("handled.refused", name="refuses")
def refuses(_: Event) -> None:
    raise PermanentError("no such order")


@handlers.on("handled.later", name="later")
async def asks_for_time(event: Event) -> None:
    _seen[str(event.id)] += 1
    if _seen[str(event.id)] == 1:
        raise TemporaryError("busy", retry_after=2)


@handlers.on("handled.badly.exits", name="exits")
async def exits(_: Event) -> None:
    raise SystemExit(3)


@handlers.on("handled.badly.exits-in-a-thread", name="exits-in-a-thread")
def exits_in_a_thread(_: Event) -> None:
    raise SystemExit(3)


@handlers.on("handled.badly.interrupts", name="interrupts")
async def interrupts(_: Event) -> None:
    raise KeyboardInterrupt


@handlers.on("handled.badly.cancels", name="cancels")
async def cancels(_: Event) -> None:
    raise asyncio.CancelledError


@handlers.on("handled.badly.cancels-itself", name="cancels-itself")
async def cancels_itself(_: Event) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@handlers.on("handled.badly.stops-its-loop", name="stops-its-loop")
async def stops_its_loop(_: Event) -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0)
    raise RuntimeError("its loop goes on")


@handlers.on("handled.badly.hangs", name="hangs", timeout_s=1)
async def hangs(_: Event) -> None:
    await asyncio.get_running_loop().create_future()


@handlers.on("handled.badly.hangs-in-a-thread", name="hangs-in-a-thread", timeout_s=1)
def hangs_in_a_thread(_: Event) -> None:
    _for_ever.wait()


@handlers.on("handled.badly.blocks", name="blocks", timeout_s=1)
async def blocks(_: Event) -> None:
    time.sleep(4)  # noqa: ASYNC251 - that is what is tested


@handlers.on("handled.badly.declines-to-end", name="declines-to-end", timeout_s=1)
async def declines_to_end(_: Event) -> None:
    while True:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            continue


@handlers.on("handled.badly.leaves-an-exit-behind", name="leaves-an-exit-behind")
async def leaves_an_exit_behind(_: Event) -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(0)
    raise RuntimeError("its loop goes on")


@handlers.on("handled.slowly", name="slowly")
def waits_for_an_answer(event: Event) -> None:
    with urllib.request.urlopen(event.json()["url"]) as response:  # noqa: S310 - the test's own receiver
        assert response.status == 204


@handlers.on("handled.asks", name="asks")
def asks_whether_it_may(event: Event) -> None:
    try:
        with urllib.request.urlopen(_question(event)):  # noqa: S310 - as above
            return
    except urllib.error.HTTPError as answer:
        with answer:
            raise PermanentError(f"answered {answer.code}") from None


def _question(event: Event) -> urllib.request.Request:
    return urllib.request.Request(event.json()["url"], headers={"webhook-id": str(event.id)})  # noqa: S310
