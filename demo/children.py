"""The demo's own worker and scheduler: real processes, started as anyone would start them, and stopped with SIGTERM.

They carry the stack's mark, so that whatever becomes of the demo, the stack's guard ends them too.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from demo.failure import DemoFailedError
from devstack.child import MARK_SEPARATOR, MARK_VARIABLE, kill_family
from devstack.process_identity import ProcessIdentity

__all__ = ["Child", "running"]

_STOPPED_WITHIN = timedelta(seconds=25)
_TAIL_LINES = 12
_CHECKOUT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One process, with its log."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise DemoFailedError if it is gone."""
        code = self.process.poll()
        if code is not None:
            raise DemoFailedError(f"the {self.name} ended by itself with code {code}", detail=self.tail)

    def stop(self) -> None:
        """Ask it to stop, and wait; DemoFailedError unless it ends in time with code 0."""
        self.check()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(_STOPPED_WITHIN.total_seconds())
        except subprocess.TimeoutExpired:
            raise DemoFailedError(
                f"the {self.name} did not stop within {_STOPPED_WITHIN.total_seconds():g} s of SIGTERM",
                detail=self.tail,
            ) from None
        if code:
            raise DemoFailedError(f"the {self.name} stopped with code {code}, not 0", detail=self.tail)

    def kill(self) -> None:
        """End it at once, if it still runs."""
        identity = ProcessIdentity.of(self.process.pid)
        if self.process.poll() is None and identity is not None:
            kill_family(identity)
        self.process.wait()

    @property
    def tail(self) -> str:
        """The last lines of its log, which is removed with the stack."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([f"The log of the {self.name} ends with:", *(f"    {line}" for line in lines)])


@contextmanager
def running(
    commands: Mapping[str, list[str]], *, state_dir: Path, environment: Mapping[str, str]
) -> Iterator[tuple[Child, ...]]:
    """Start `outbox` with each of these arguments; whatever still runs after the block is killed."""
    children: list[Child] = []
    try:
        for name, arguments in commands.items():
            children.append(_start(name, arguments, state_dir=state_dir, environment=environment))
        yield tuple(children)
    finally:
        for child in children:
            child.kill()


def _start(name: str, arguments: list[str], *, state_dir: Path, environment: Mapping[str, str]) -> Child:
    log = state_dir / "logs" / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
            [sys.executable, "-m", "streams.cli", *arguments],
            cwd=_CHECKOUT,
            env={**os.environ, **environment, MARK_VARIABLE: f"{name}{MARK_SEPARATOR}{state_dir}"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a Ctrl-C in the terminal doesn't reach it: the demo asks it to stop
        )
    return Child(name=name, process=process, log=log)
