"""How many asyncio tasks a process has, written down every few seconds: a leak of tasks shows nowhere else."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

__all__ = ["count_tasks", "tasks_of"]

_EVERY_S = 5.0


def count_tasks(folder: Path) -> None:
    """Keep the count of this process in a file of the folder, from a thread."""
    threading.Thread(target=_keep, args=(folder / f"{os.getpid()}.tasks",), daemon=True).start()


def tasks_of(folder: Path, pid: int) -> int:
    """What a process wrote last; 0 before it wrote anything."""
    path = folder / f"{pid}.tasks"
    return int(path.read_text() or 0) if path.exists() else 0


def _keep(path: Path) -> None:
    while True:
        # All tasks of all loops of the process: the worker has two. No public function counts those.
        found: Any = getattr(asyncio.tasks, "_scheduled_tasks", None) or getattr(
            asyncio.tasks, "_all_tasks", ()
        )
        path.write_text(str(len(found)))
        time.sleep(_EVERY_S)
