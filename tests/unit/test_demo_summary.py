"""The demo's tables in a terminal of the usual width."""

import io

import pytest
from rich.console import Console

from demo.expectation import expectations
from demo.summary import summarise
from demo.verdict import judge
from tests.support.told_demo import told_demo


def drawn(width: int) -> list[str]:
    evidence = told_demo()
    verdict = judge(expectations(evidence.committed), evidence)
    file = io.StringIO()
    summarise(Console(file=file, width=width), evidence, verdict)
    return file.getvalue().splitlines()


def test_each_target_is_one_line_of_80_columns() -> None:
    """Nothing of the tables is cut or goes on in a second line."""
    lines = drawn(80)
    tables = lines[: next(number for number, line in enumerate(lines) if "were committed" in line)]
    assert all(len(line) <= 80 and "…" not in line for line in tables)
    assert [line.split()[-4:] for line in tables if line.startswith("endpoint:ep_billing")] == [
        ["40", "120", "40", "0"]
    ]


@pytest.mark.parametrize("width", [50, 60, 70])
def test_a_number_is_never_cut(width: int) -> None:
    """A narrower terminal wraps the words; the counts stay whole."""
    output = drawn(width)
    assert not any("…" in line for line in output)
    assert sum("120" in line.split() for line in output) >= 2
