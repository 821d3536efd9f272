"""A process of ours as a run starts it: its wall clock can be stepped, and a rule may be broken in it.

    python -m tests.faults.harness.altered MUTANT CLOCK_FILE worker|scheduler

Without a mutant nothing of the product is changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.faults.harness.task_count import count_tasks
from tests.support.stepped_clock import ClockStep, step_the_clock

__all__: list[str] = []


def main(mutant: str, clock: str, *arguments: str) -> None:
    step_the_clock(ClockStep(Path(clock)))
    count_tasks(Path(os.environ["FAULTS_FOLDER"]))
    if mutant != "none":
        from tests.faults.harness.mutants import install  # noqa: PLC0415 - only a mutant pays for it

        install(mutant)
    from streams.cli.main import app  # noqa: PLC0415 - after the patches

    sys.argv = ["outbox", *arguments]
    app(prog_name="outbox")


if __name__ == "__main__":
    main(*sys.argv[1:])
