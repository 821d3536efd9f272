"""The fault harness in its short form, as CI runs it: every kind of fault once, under load, judged from outside.

`make faults` runs the full form, `make soak` the long one; docs/reference/reliability.md says what they showed.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from rich.console import Console

from tests.faults.harness.ground import Ground, open_ground
from tests.faults.harness.kinds.catalogue import schedule
from tests.faults.harness.mutants import MUTANTS
from tests.faults.harness.report import show
from tests.faults.harness.run import run_faults, turns_red

_SEED: Final = 21


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """A stack of its own: its broker and its Postgres are killed more than once."""
    # Not deleted: a red verdict names the logs and the evidence in it.
    folder = Path(tempfile.mkdtemp(prefix="outbox-faults-"))
    with open_ground(folder, tell=lambda _: None) as opened:
        yield opened


def test_nothing_is_lost_under_faults(ground: Ground) -> None:
    """INV-1 to INV-9: whatever is done, nothing is lost, early, wrong or repeated beyond what a crash allows.

    CI has the same faults in the same order each time; `make faults` draws a seed.
    """
    told: list[str] = []
    ran = run_faults(
        ground, schedule("short", rng=random.Random(_SEED)), seed=_SEED, rate=40.0, tell=told.append
    )
    console = Console(width=150, record=True)
    show(ran, console)
    assert ran.verdict.holds, "\n".join([*told, console.export_text()])


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_rule_turns_the_verdict_red(ground: Ground, mutant: str) -> None:
    """The harness can fail: with this rule broken on purpose it says so, in the line that is about it."""
    told: list[str] = []
    line = turns_red(ground, mutant, seed=1, tell=told.append)
    assert not line.holds, "\n".join([f"{mutant}: {line.rule} is 0", *told])
