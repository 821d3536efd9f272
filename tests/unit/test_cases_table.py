"""`tests/CASES.md` names, for each fault that others had, the tests that show it is not here."""

import ast
import re
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_LATER = re.compile(r"later: issue [4-7]\b")
ROWS = _ROW.findall((_ROOT / "tests" / "CASES.md").read_text(encoding="utf-8"))


@cache
def names_in(path: Path) -> frozenset[str]:
    """The names of a module's tests, read without importing it; none where there is no such file."""
    if not path.is_file():
        return frozenset()
    functions = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(
        node.name for node in functions if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_every_case_is_in_the_table_once() -> None:
    """All of the faults, in their order: none is left out in silence."""
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 44))


def test_every_case_is_tested_or_somebodys_later() -> None:
    """A row without a test says which issue builds what it concerns."""
    silent = [number for number, _, where in ROWS if not _TEST.search(where) and not _LATER.search(where)]
    assert silent == []


def test_every_test_that_is_named_exists() -> None:
    """A test that was renamed or removed takes its row with it."""
    named = [(number, path, name) for number, _, where in ROWS for path, name in _TEST.findall(where)]
    missing = [
        f"case {number}: {path}::{name}" for number, path, name in named if name not in names_in(_ROOT / path)
    ]
    assert missing == []
