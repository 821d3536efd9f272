"""Examples in the documentation, as programs: so that a page that is wrong fails a test.

A block's info string says how it runs: `python pure` needs nothing, `python database` and `sql database` need the
outbox's database, `sh letters` the whole installation. Blocks of one page and kind run in their order, in one
namespace, as a reader would try them. Blocks without such a word are not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Example", "examples"]

_ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```(?P<info>[a-z]+ [a-z]+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One block. `code` is preceded by empty lines, so that a traceback has the page's line numbers."""

    page: str
    line: int
    code: str


def examples(info: str) -> dict[str, tuple[Example, ...]]:
    """Return the blocks with this info string, by the page that they are on."""
    pages = sorted(_ROOT.glob("*.md")) + sorted((_ROOT / "docs").rglob("*.md"))
    found = {page.relative_to(_ROOT).as_posix(): _on_page(page, info) for page in pages}
    return {name: blocks for name, blocks in found.items() if blocks}


def _on_page(page: Path, info: str) -> tuple[Example, ...]:
    text = page.read_text(encoding="utf-8")
    blocks = []
    for match in _BLOCK.finditer(text):
        if match["info"] == info:
            line = text.count("\n", 0, match.start("code"))
            name = page.relative_to(_ROOT).as_posix()
            blocks.append(Example(page=name, line=line, code="\n" * line + match["code"]))
    return tuple(blocks)
