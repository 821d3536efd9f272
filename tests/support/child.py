"""A process of ours under test: started as an operator starts it, watched by its log, stopped or killed by its pid.

Its log is JSON, a line each event; a test waits for lines, never for time to pass.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

__all__ = ["Child"]

_ROOT = Path(__file__).parents[2]
_STOP_S = 40.0
_TAIL_LINES = 25
# Killed with this process, however this process ends: no worker stays behind on the machine.
_LAUNCH = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

Line = Mapping[str, Any]


class Child:
    """`outbox <arguments>` as a child process. Its log goes to `log`, and to `lines` as it is written.

    `module` is what runs it, as after `python -m`, with arguments of its own.
    """

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        log: Path,
        module: Sequence[str] = ("streams.cli",),
    ) -> None:
        self.name = log.stem
        self.log = log
        self._lines: list[Line] = []
        self._ended = False
        self._changed = threading.Condition()
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-c", _LAUNCH, "-m", *module, *arguments],
            cwd=_ROOT,
            env={**_own_environment(), "OUTBOX_LOG_FORMAT": "json", **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"log of {self.name}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lines(self) -> Sequence[Line]:
        with self._changed:
            return tuple(self._lines)

    @property
    def text(self) -> str:
        """All that it said, as it said it."""
        return self.log.read_text(errors="replace")

    def children(self) -> list[psutil.Process]:
        children: list[psutil.Process] = psutil.Process(self.pid).children(recursive=True)
        return children

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def of(self, event: str, **fields: object) -> Sequence[Line]:
        """The lines of one kind, with these values of fields."""
        wanted = {"event": event, **fields}.items()
        return [line for line in self.lines if all(line.get(name) == value for name, value in wanted)]

    def wait_for(self, event: str, *, count: int = 1, timeout_s: float = 40.0, **fields: object) -> Line:
        """Wait for the `count`-th line of a kind, and give it."""
        self.wait_until(
            lambda: len(self.of(event, **fields)) >= count,
            what=f"{event} (number {count})",
            timeout_s=timeout_s,
        )
        return self.of(event, **fields)[count - 1]

    def wait_until(self, holds: Callable[[], bool], *, what: str, timeout_s: float = 40.0) -> None:
        """Wait until something holds that its lines tell."""
        with self._changed:
            self._changed.wait_for(lambda: holds() or self._ended, timeout_s)
            assert holds(), f"{self.name}: no {what}; {self._state()}"

    def wait_for_end(self, *, timeout_s: float = _STOP_S) -> int:
        """Wait until it ends by itself, and give its exit code."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end; {self._state()}") from None
        self._reader.join()
        return code

    def stop(self, *, timeout_s: float = _STOP_S) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_for_end(timeout_s=timeout_s)

    def kill(self) -> None:
        """SIGKILL, as a crash would end it."""
        self.signal(signal.SIGKILL)
        self.wait_for_end()

    def freeze(self) -> None:
        """SIGSTOP: it stands still until `thaw`."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_running:
            self.thaw()
            self.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output, self.log.open("wb") as log:
            for raw in output:
                log.write(raw)
                log.flush()
                with self._changed:
                    self._lines.append(_parsed(raw))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _state(self) -> str:
        code = self._process.poll()
        tail = self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:] if self.log.exists() else []
        state = "it runs" if code is None else f"it ended with {code}"
        return "\n    ".join([f"{state}, and said at last:", *tail])


def _parsed(raw: bytes) -> Line:
    try:
        parsed = json.loads(raw)
    except ValueError:
        return {"text": raw.decode(errors="replace").rstrip()}
    return parsed if isinstance(parsed, dict) else {"text": raw.decode(errors="replace").rstrip()}


def _own_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("OUTBOX_")}
