"""Child processes: started apart from the terminal, ended with their whole family, found again by a mark.

The mark is an environment variable that names the service and its state folder. It finds a child whose launcher was
killed before it could write the pid down, and one whose state folder was deleted.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil

from devstack.errors import MissingPieceError, StateError
from devstack.process_identity import ProcessIdentity

__all__ = [
    "MARK_SEPARATOR",
    "MARK_VARIABLE",
    "Account",
    "Command",
    "end",
    "kill_family",
    "marked_processes",
    "run_to_end",
    "spawn",
]

MARK_SEPARATOR = "@"
MARK_VARIABLE = "OUTBOX_DEVSTACK"
_KILL_PATIENCE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The system user that a child runs as, when it isn't ours."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program with all that it is started with. `mark` is what `marked_processes` finds."""

    arguments: Sequence[str]
    folder: Path
    mark: str
    account: Account | None = None


def spawn(command: Command, *, log: Path) -> ProcessIdentity | None:
    """Start it, and say who it is: None when it ended at once. Its output goes to `log`.

    Raises:
        MissingPieceError: the program can't be started.
        StateError: the log can't be written.
    """
    process = _start(command, log=log)
    identity = ProcessIdentity.of(process.pid)
    # Someone has to collect it when it ends, or it stays a zombie for as long as we live.
    threading.Thread(target=process.wait, name=f"collects {command.mark}", daemon=True).start()
    return identity


def run_to_end(command: Command, *, log: Path) -> bool:
    """Run a short preparing step, and say whether it succeeded. Raises as `spawn` does."""
    with _start(command, log=log) as process:
        return process.wait() == 0


def end(identity: ProcessIdentity, *, with_signal: signal.Signals, patience: timedelta) -> None:
    """Ask a process to end; when it hasn't after `patience`, kill it and its children. Returns when it is gone."""
    if not identity.is_alive():
        return
    with suppress(psutil.Error):
        psutil.Process(identity.pid).send_signal(with_signal)
    if not identity.wait_gone(patience):
        kill_family(identity)


def kill_family(identity: ProcessIdentity) -> None:
    """Kill a process and all that came of it, as a crash of the machine would. Returns when they are gone."""
    if not identity.is_alive():
        return
    try:
        process = psutil.Process(identity.pid)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return
    identities = [ProcessIdentity.of(member.pid) for member in family]
    for member in family:
        with suppress(psutil.Error):
            member.kill()
    for killed in identities:
        if killed is not None:
            killed.wait_gone(_KILL_PATIENCE)


def marked_processes() -> list[tuple[str, ProcessIdentity]]:
    """Every living process that was started with a mark, of any state folder, with that mark."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK_VARIABLE)
            identity = None if mark is None else ProcessIdentity.of(process.pid)
            if mark is not None and identity is not None:
                found.append((mark, identity))
    return found


def _start(command: Command, *, log: Path) -> subprocess.Popen[bytes]:
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = log.open("ab")
    except OSError as error:
        raise StateError(f"{log} can't be written ({error.strerror}): make room or rights there") from error
    account = command.account
    with output:
        try:
            return subprocess.Popen(  # noqa: S603 - our own argument list, no shell
                command.arguments,
                cwd=command.folder,
                env={**_own_environment(), MARK_VARIABLE: command.mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal doesn't reach it
                user=None if account is None else account.uid,
                group=None if account is None else account.gid,
                extra_groups=None if account is None else [],
            )
        except OSError as error:
            program = command.arguments[0]
            raise MissingPieceError(
                f"{program} can't be started ({error.strerror}): run `make venv`"
            ) from error


def _own_environment() -> dict[str, str]:
    # A JVM or a Postgres is steered by many variables (JAVA_TOOL_OPTIONS, PGDATA, CLASSPATH …): none of ours is meant.
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TMPDIR", "TZ"}}
    return {**kept, "LC_ALL": "C.UTF-8"}  # or a JVM can't read a path that isn't ASCII
