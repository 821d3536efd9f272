"""What must not be broken off is not, and the interrupt is not lost either."""

import signal
from collections.abc import Iterator

import pytest

from devstack.interrupts import uninterrupted


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """As in a terminal: a run in a shell's background is born with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupts_take_effect_after_the_block_as_one() -> None:
    """Two of them in the block don't end it; after it there is one KeyboardInterrupt, and Ctrl-C works as before."""
    done = []

    def clean_up() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        clean_up()
    assert done == ["all of it"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_without_an_interrupt_nothing_happens() -> None:
    """The handlers are those of before."""
    before = signal.getsignal(signal.SIGTERM)
    with uninterrupted():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
