"""`outbox` with a wall clock that a test steps: `python -m tests.support.stepped_clock OFFSET_FILE scheduler`.

    step = ClockStep(tmp_path / "step")
    with Child("scheduler", module=stepped_clock_module(step.path), environment=..., log=...):
        step.set(60)

Python's `time.time` and its kin tell the system's time and the offset that the file holds, from the moment it is set;
what counts on (`time.monotonic`, CLOCK_BOOTTIME) is left alone, as a real step leaves it. Not stepped are
`datetime.now`, which the lines of the log are stamped by (so a log stays in true order), and the C libraries, which
use no time of day for what we need.
"""

from __future__ import annotations

import mmap
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["ClockStep", "step_the_clock", "stepped_clock_module"]

_BYTES = 8
_NS_PER_S = 1_000_000_000


class ClockStep:
    """How far the clock of a process is off: one number in a file that both have mapped into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(_BYTES))
        with path.open("r+b") as file:
            self._nanoseconds = memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("q")

    @property
    def nanoseconds(self) -> int:
        return self._nanoseconds[0]

    def set(self, seconds: float) -> None:
        """Step the clock to this far from the true time, forward or (negative) back. 0 is true again."""
        self._nanoseconds[0] = round(seconds * _NS_PER_S)


def stepped_clock_module(offset_file: Path) -> Sequence[str]:
    """What stands after `python -m`, before the arguments of `outbox`."""
    return "tests.support.stepped_clock", str(offset_file)


def step_the_clock(step: ClockStep) -> None:
    """Put this process's wall clock under that step. To be called before others bind the clock's functions."""
    true_ns, true_clock_ns = time.time_ns, time.clock_gettime_ns

    def clock_gettime_ns(clock: int) -> int:
        return true_clock_ns(clock) + (step.nanoseconds if clock == time.CLOCK_REALTIME else 0)

    stepped: dict[str, Callable[..., float]] = {
        "time": lambda: (true_ns() + step.nanoseconds) / _NS_PER_S,
        "time_ns": lambda: true_ns() + step.nanoseconds,
        "clock_gettime": lambda clock: clock_gettime_ns(clock) / _NS_PER_S,
        "clock_gettime_ns": clock_gettime_ns,
    }
    for name, function in stepped.items():
        setattr(time, name, function)


def _main() -> None:
    offset_file, *arguments = sys.argv[1:]
    step_the_clock(ClockStep(Path(offset_file)))
    from streams.cli.main import app  # noqa: PLC0415 - after the clock is in place, whoever binds its functions

    app(arguments, prog_name="outbox")


if __name__ == "__main__":
    _main()
