"""Worker, scheduler and recorder under test: the very commands that an operator runs, as child processes."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from benchmarks.errors import BenchmarkError

__all__ = ["Program", "running"]

_STOP_S = 30.0


class Program:
    """One running program."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._name = name
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def stop(self) -> None:
        """End it as an operator would.

        Raises:
            BenchmarkError: it had ended before, or ended with an error.
        """
        ended_early = self._process.poll() is not None
        code = _end(self._process)
        if ended_early or code:
            tail = "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
            raise BenchmarkError(f"the {self._name} ended with code {code}; its last lines:\n{tail}")


@contextmanager
def running(
    name: Literal["worker", "scheduler", "recorder"], *, environment: Mapping[str, str], logs: Path
) -> Iterator[Program]:
    """Run it with these settings and no others until the block ends. It may not be ready yet when the block begins."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OUTBOX_")}
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
            [sys.executable, "-m", "streams.cli", name],
            env={**clean, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    program = Program(name, process, log)
    try:
        yield program
    except BaseException:
        _end(process)
        raise
    program.stop()


def _end(process: "subprocess.Popen[bytes]") -> int:
    process.terminate()
    try:
        return process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
