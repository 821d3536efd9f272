"""What killed launchers and deleted clones leave behind: processes that carry our mark, and root's Postgres folders.

Cleaned at each start, so nothing that anyone did before stands in its way. Only what carries our mark is touched.
"""

import shutil
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from devstack.child import MARK_SEPARATOR, end, kill_family, marked_processes
from devstack.postgres_home import abandoned_folders
from devstack.state import StateFile

__all__ = ["end_strays"]

_PATIENCE = timedelta(seconds=5)


def end_strays(state: StateFile) -> tuple[str, ...]:
    """End this stack's processes that its state doesn't name, and all of stacks whose state folder is gone.

    Returns what was ended of this stack.
    """
    ended = []
    recorded = state.read().processes.values()
    for mark, identity in marked_processes():
        service, _, state_dir = mark.partition(MARK_SEPARATOR)
        folder = Path(state_dir)
        unrecorded = folder == state.path.parent and identity not in recorded
        if unrecorded:
            ended.append(service)
        if unrecorded or _is_gone(folder / state.path.name):
            if service == "postgres":  # asked to end, it gives back the shared memory that no folder names
                end(identity, with_signal=signal.SIGINT, patience=_PATIENCE)
            else:
                kill_family(identity)
    for abandoned in abandoned_folders():
        shutil.rmtree(abandoned, ignore_errors=True)
    return tuple(ended)


def _is_gone(path: Path) -> bool:
    with suppress(OSError):  # what we may not look at counts as there
        return not path.exists()
    return False
