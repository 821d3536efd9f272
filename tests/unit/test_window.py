"""The window: bounded memory by waiting, and nobody who waits is forgotten."""

import asyncio
from collections.abc import Callable

from streams.dispatch.window import Window


class Asker:
    """Takes records one by one: waits for room, then opens a turn, if `opens` says that this record needs one."""

    def __init__(self, window: Window, *, opens: Callable[[], bool] = lambda: True) -> None:
        self.taken = 0
        self.task = asyncio.ensure_future(self._take(window, opens))

    async def _take(self, window: Window, opens: Callable[[], bool]) -> None:
        await window.room()
        self.taken += 1
        if opens():
            window.enter()


async def settled() -> None:
    """Until every task that can go on has done so."""
    for _ in range(5):
        await asyncio.sleep(0)


def full_window(size: int = 1) -> Window:
    window = Window(size)
    for _ in range(size):
        window.enter()
    return window


async def test_there_is_room_until_it_is_full() -> None:
    """Up to its size, nothing waits."""
    window = Window(2)
    window.enter()
    await window.room()
    window.enter()
    assert window.full
    asker = Asker(window)
    await settled()
    assert not asker.task.done()
    window.leave()
    await asker.task
    assert window.open_turns == 2


async def test_a_fan_out_may_exceed_the_size_and_nothing_more_is_taken_then() -> None:
    """One record's targets are all opened; the next record waits until the count is below the size again."""
    window = full_window(2)
    for _ in range(3):
        window.enter()
    asker = Asker(window)
    for _ in range(3):
        window.leave()
        await settled()
        assert not asker.task.done()
    window.leave()
    await asker.task


async def test_room_is_given_in_the_order_of_asking() -> None:
    """No agent starves behind the other."""
    window = full_window()
    askers = [Asker(window) for _ in range(3)]
    await settled()
    for number in range(3):
        window.leave()
        await settled()
        assert [asker.taken for asker in askers] == [1] * (number + 1) + [0] * (2 - number)


async def test_a_waiter_that_is_cancelled_as_it_is_woken_passes_the_room_on() -> None:
    """A wake-up that nobody uses is not lost: the next in line goes on."""
    window = full_window()
    first, second = Asker(window), Asker(window)
    await settled()
    window.leave()
    first.task.cancel()
    await settled()
    assert second.task.done()
    assert window.open_turns == 1


async def test_a_waiter_that_was_cancelled_before_is_passed_over() -> None:
    """Also while everybody still waits."""
    window = full_window()
    first, second = Asker(window), Asker(window)
    await settled()
    first.task.cancel()
    await settled()
    window.leave()
    await second.task


async def test_a_waiter_that_opens_no_turn_leaves_the_room_to_the_next() -> None:
    """A duplicate needs no room; the other agent must not wait for an ending that will never come."""
    window = full_window()
    first, second = Asker(window, opens=lambda: False), Asker(window)
    await settled()
    window.leave()
    await settled()
    assert first.task.done()
    assert second.task.done()
    assert window.open_turns == 1
