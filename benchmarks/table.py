"""A table of results: the same one is printed and written into the documentation. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Table", "markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells as they are shown. The first column names the row; the others are numbers.

    Raises:
        ValueError: a row has more or fewer cells than there are columns.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: {len(row)} cells in a row of {len(self.columns)} columns"
                )


def markdown(table: Table, *, level: int = 3) -> str:
    """Write a table as Markdown, its title as a heading, its notes as a list below.

    >>> print(markdown(Table(title="T", columns=("a", "b"), rows=(("x", "1"),)), level=2))
    ## T
    <BLANKLINE>
    | a | b |
    | :-- | --: |
    | x | 1 |
    """
    lines = [f"{'#' * level} {table.title}", "", _line(table.columns)]
    lines.append(_line((":--", *("--:" for _ in table.columns[1:]))))
    lines += map(_line, table.rows)
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
