"""A small process that ends a stack when the process that started it is gone, even killed with -9.

It waits for the end of a pipe that only its parent holds open; the system closes that however the parent dies, which
works on every Unix and does not depend on the thread that started a child. Run as
`python -m devstack.guard STATE_DIR [--remove]`.
"""

import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

__all__ = ["end_guard", "start_guard"]

_LOCK_PATIENCE = timedelta(seconds=60)

# Kept here, not in the stack's object: what holds a stack up is this process, however its objects come and go.
_guards: dict[Path, subprocess.Popen[bytes]] = {}


def start_guard(state_dir: Path, *, remove: bool) -> None:
    """Have the stack in this folder ended, and its folder removed if asked for, when this process is gone."""
    end_guard(state_dir)
    _guards[state_dir] = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
        [sys.executable, "-m", "devstack.guard", str(state_dir), *(["--remove"] if remove else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_guard(state_dir: Path) -> None:
    """The stack was stopped in an orderly way: nobody need wait for our end any more."""
    guard = _guards.pop(state_dir, None)
    if guard is not None:
        guard.kill()
        guard.communicate()


def _main(arguments: list[str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    # Imported late: until now this process only had to be small.
    from devstack.stack import EmbeddedStack  # noqa: PLC0415

    stack = EmbeddedStack(Path(arguments[0]))
    if "--remove" in arguments:
        stack.remove(wait=_LOCK_PATIENCE)
    else:
        stack.stop(wait=_LOCK_PATIENCE)


if __name__ == "__main__":
    _main(sys.argv[1:])
