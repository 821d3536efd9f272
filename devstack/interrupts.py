"""Interrupts while something must not be broken off: cleaning up half-way leaves what nobody finds again."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ignore_interrupts", "uninterrupted"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP that arrive in the block take effect after it, as one.

    Outside the main thread it does nothing: no interrupt arrives there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    before = {number: signal.signal(number, note) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if arrived:
            signal.raise_signal(arrived[0])


def ignore_interrupts() -> None:
    """From now on they do nothing, also while Python shuts down: for who only has to say its last words.

    Children would inherit this: start none any more.
    """
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)
