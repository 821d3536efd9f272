"""One command at a time on a state folder: a lock that the system takes back when its holder dies, however it dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from devstack.errors import StackBusyError, StateError

__all__ = ["exclusive"]

_TRY_AGAIN_AFTER_S = 0.05


@contextmanager
def exclusive(path: Path, *, wait: timedelta = timedelta(0)) -> Iterator[None]:
    """Hold the lock file while the block runs. Children don't inherit it.

    Raises:
        StackBusyError: someone else holds it, and did so for the whole wait.
        StateError: the folder can't be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StateError(f"{path} can't be opened ({error.strerror}): make room or rights there") from error
    try:
        _take(descriptor, path=path, deadline=time.monotonic() + wait.total_seconds())
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, *, path: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                holder = os.pread(descriptor, 20, 0).decode(errors="replace") or "unknown"
                raise StackBusyError(
                    f"process {holder} is already starting or stopping the stack in {path.parent}: "
                    "wait until it is done, then try again."
                ) from None
            time.sleep(_TRY_AGAIN_AFTER_S)
        else:
            return
