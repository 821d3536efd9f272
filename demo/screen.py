"""What the demo shows while it runs: on a terminal a live view, anywhere else plain lines without escape codes."""

import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo.expectation import RETRY_TOPICS
from demo.numbers import Numbers
from demo.story import KINDS, ROLLED_BACK
from devstack.progress import ProgressListener
from streams.cli.stack_progress import shown_on

__all__ = ["Screen"]

_LINE_EVERY = timedelta(seconds=2)
_PLAIN_WIDTH = 110
_BAR_WIDTH = 18
_SPINNER_WIDTH = 4

_COMMITTED = sum(kind.orders for kind in KINDS)
_DELIVERED = sum(kind.orders for kind in KINDS for target in kind.targets if target.code is None)
_DEAD = {target.code: kind.orders for kind in KINDS for target in kind.targets if target.code is not None}
_RETRIED = sum(
    kind.orders * (target.attempts - 1) for kind in KINDS for target in kind.targets if target.attempts
)


class Screen:
    """Where the demo speaks.

    Args:
        file: usually stdout. Whether it is a terminal is asked of it, and of nothing else: FORCE_COLOR doesn't count.
    """

    def __init__(self, file: TextIO) -> None:
        terminal = file.isatty()
        self.console = Console(
            file=file, force_terminal=terminal, width=None if terminal else _PLAIN_WIDTH, highlight=False
        )
        self._live = terminal and not self.console.is_dumb_terminal

    def say(self, text: str) -> None:
        """One line, or several."""
        self.console.print(text, markup=False, soft_wrap=True)

    @contextmanager
    def starting_stack(self) -> Iterator[ProgressListener]:
        """A listener for the stack's start."""
        began = time.monotonic()
        self.say("Starting Postgres, Kafka and Kafka Connect: a temporary stack of the demo's own")
        with shown_on(self.console) as listener:
            yield listener
        self.say(f"✓ The stack is up ({time.monotonic() - began:.1f} s)")

    @contextmanager
    def doing(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show a step that takes a moment; call what it yields with what is being done now."""
        began = time.monotonic()
        if self._live:
            with self.console.status(what) as status:
                yield lambda detail: status.update(self._on_one_line(f"{what}: {detail}"))
        else:
            yield lambda _: None
        self.say(f"✓ {what} ({time.monotonic() - began:.1f} s)")

    @contextmanager
    def watching(self) -> Iterator[Callable[[Numbers], None]]:
        """Show the numbers, as often as they are given."""
        if not self._live:
            yield self._lines()
            return
        with Live(console=self.console, auto_refresh=False) as live:
            yield lambda numbers: live.update(_view(numbers), refresh=True)

    def _on_one_line(self, text: str) -> str:
        return textwrap.shorten(text, width=max(self.console.width - _SPINNER_WIDTH, 20), placeholder=" …")

    def _lines(self) -> Callable[[Numbers], None]:
        last: tuple[float, Numbers | None] = (0.0, None)

        def line(numbers: Numbers) -> None:
            nonlocal last
            now = time.monotonic()
            if numbers != last[1] and now - last[0] >= _LINE_EVERY.total_seconds():
                last = now, numbers
                self.say("  ".join(f"{name} {have}/{all_of}" for name, have, all_of, _ in _rows(numbers)))

        return line


def _rows(numbers: Numbers) -> list[tuple[str, int, int, str]]:
    tiers = " and ".join(topic.removeprefix("outbox.") for topic in RETRY_TOPICS.values())
    dead = sum(numbers.dead_lettered.values())
    return [
        (
            "committed",
            numbers.committed,
            _COMMITTED,
            f"{numbers.rolled_back} of {ROLLED_BACK} others rolled back",
        ),
        ("delivered", numbers.delivered, _DELIVERED, "to an endpoint or a handler"),
        ("retried", numbers.retried, _RETRIED, f"{numbers.waiting} waiting in {tiers}"),
        ("dead-lettered", dead, sum(_DEAD.values()), "of these:"),
    ]


def _view(numbers: Numbers) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in ("name", "count", "bar"):
        table.add_column(no_wrap=True)  # a narrow terminal's loss is the detail's alone
    table.add_column(overflow="fold")
    for name, have, all_of, detail in _rows(numbers):
        bar = ProgressBar(total=all_of, completed=have, width=_BAR_WIDTH)
        table.add_row(name, Text(f"{have}/{all_of}", justify="right"), bar, Text(detail, style="dim"))
    for code, all_of in sorted(_DEAD.items()):
        have = numbers.dead_lettered.get(code, 0)
        table.add_row("", Text(f"{have}/{all_of}", justify="right", style="dim"), Text(code, style="dim"))
    return table
