"""Which process a pid meant. A pid alone is reused by the system; a pid with its time of birth is not.

What was recorded before a reboot, or before the pid went to someone else, is never signalled.
"""

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil

__all__ = ["ProcessIdentity"]

_LOOK_AGAIN_AFTER_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A pid, and an opaque mark of when that process began: equal marks mean the same process."""

    pid: int
    birth: str

    @classmethod
    def of(cls, pid: int) -> "ProcessIdentity | None":
        """The identity of the process that has this pid now; None when there is none, or only a zombie."""
        birth = _birth_on_linux(pid) if sys.platform == "linux" else _birth(pid)
        return None if birth is None else cls(pid=pid, birth=birth)

    def is_alive(self) -> bool:
        """Whether this very process still runs. A zombie doesn't."""
        return ProcessIdentity.of(self.pid) == self

    def wait_gone(self, patience: timedelta) -> bool:
        """Wait until it is gone, and say whether it is. Works for any process, not only for children.

        A zombie counts as gone: its parent may never collect it, as some containers' first process doesn't.
        """
        deadline = time.monotonic() + patience.total_seconds()
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_AGAIN_AFTER_S)
        return True


def _birth_on_linux(pid: int) -> str | None:
    # Ticks since boot, with the boot's id: unlike a wall-clock time they don't move when the clock is set.
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    state, threads, start_ticks = fields[0], int(fields[17]), fields[19]
    # A killed process is a zombie as soon as its first thread has ended. Its ports are free when all of them have.
    is_gone = state in {"Z", "X"} and threads <= 1
    return None if is_gone else f"{boot_id}:{start_ticks}"


def _birth(pid: int) -> str | None:
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return f"{process.create_time():.2f}"
    return None
