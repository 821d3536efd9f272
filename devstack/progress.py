"""What a start tells its caller while it works: a stream of small values, never a print.

The CLI and the demo draw them; tests ignore them. Listeners are called from several threads, one call at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "ProgressListener", "Step", "silent"]

Step = Literal["jars", "postgres", "kafka", "connect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One step's news. `done` of `total` count whatever the step counts (jars: files); 0 of 0 means unknown."""

    step: Step
    message: str
    done: int = 0
    total: int = 0


ProgressListener = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """The listener of who doesn't listen."""
