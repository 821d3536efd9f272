"""What a starting stack looks like on a terminal: a line for each of its steps, with a bar while jars are fetched.

Without a terminal (a log, CI) it is one plain line for each thing that happened.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Display

from devstack.progress import Progress, ProgressListener, Step

__all__ = ["shown_on"]

_FETCHING_LINE_EVERY = 25
_REFRESH_EVERY = timedelta(milliseconds=100)


@contextmanager
def shown_on(console: Console) -> Iterator[ProgressListener]:
    """A listener for `Stack.start` that draws on this console until the block ends."""
    if not console.is_terminal:
        yield lambda news: _say(console, news)
        return
    columns = (SpinnerColumn(finished_text="✓"), TextColumn("{task.description}"), BarColumn(bar_width=24))
    with Display(
        *columns,
        MofNCompleteColumn(),
        TextColumn("{task.fields[message]}", style="dim"),
        TimeElapsedColumn(),
        console=console,
        refresh_per_second=1 / _REFRESH_EVERY.total_seconds(),
    ) as display:
        lines: dict[Step, TaskID] = {}

        def draw(news: Progress) -> None:
            if news.step not in lines:
                lines[news.step] = display.add_task(f"{news.step:<9}", total=None, message="")
            total = news.total or None
            display.update(lines[news.step], completed=news.done, total=total, message=news.message)

        yield draw


def _say(console: Console, news: Progress) -> None:
    if news.step == "jars" and 0 < news.done < news.total and news.done % _FETCHING_LINE_EVERY:
        return
    count = f" ({news.done} of {news.total})" if news.total > 1 else ""
    console.print(f"{news.step}: {news.message}{count}", markup=False, highlight=False)
