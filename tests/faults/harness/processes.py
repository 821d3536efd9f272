"""The processes of ours in a run, and who starts them again: a supervisor, as Kubernetes' kubelet is one.

A process that ends is started again at once. One that was told to end, by a fault, is expected to; any other end is
told in the verdict.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

__all__ = ["Fleet", "Member"]

_ROOT = Path(__file__).parents[3]
_LOOK_S = 0.05
#: The grace that Kubernetes gives by default.
_STOP_S = 30.0
#: SIGTERM ends a process that has not begun yet as it ends any program.
_BEGINS_S = 2.0
# Killed with the harness, however that ends: nothing stays behind on the machine.
_LAUNCH = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@dataclass(slots=True, kw_only=True)
class Member:
    """One place in the fleet, and whoever holds it now. `arguments` are python's."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    inside: Callable[..., list[str]] = lambda *argv: list(argv)
    wanted: bool = True
    started: int = 0
    started_s: float = 0.0
    expected_ends: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OUTBOX_")}
        command = self.inside(sys.executable, *self.arguments)
        self.started += 1
        self.started_s = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-c", _LAUNCH, *command],
                cwd=_ROOT,
                env={**environment, "OUTBOX_LOG_FORMAT": "json", **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} was never started"
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def sample(self) -> tuple[float, int, int] | None:
        """Resident megabytes, file descriptors, threads; None while it does not run."""
        try:
            process = psutil.Process(self.pid)
            with process.oneshot():
                return process.memory_info().rss / 1e6, process.num_fds(), process.num_threads()
        except psutil.Error:
            return None


class Fleet:
    """Keeps its members running. `deaths` are the ends that nobody had asked for."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.deaths: list[str] = []
        self._lock = threading.RLock()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="fleet", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def add(self, member: Member) -> None:
        with self._lock:
            self.members[member.name] = member
        # The supervisor starts it: what it starts ends with its thread, which lives as long as the run.

    def names(self, kind: str) -> list[str]:
        """The members of a kind that are wanted now: `worker`, `scheduler`, `receiver`."""
        with self._lock:
            return [name for name, m in self.members.items() if m.wanted and name.startswith(kind)]

    def kill(self, name: str) -> None:
        self._end(name, signal.SIGKILL)

    def terminate(self, name: str) -> None:
        """SIGTERM; returns when it has ended. It is started again."""
        self._end(name, signal.SIGTERM)

    def send_signal(self, name: str, number: signal.Signals) -> None:
        with self._lock:
            os.kill(self.members[name].pid, number)

    def want(self, name: str) -> None:
        """Have one that was retired again."""
        with self._lock:
            self.members[name].wanted = True

    def retire(self, name: str, *, number: signal.Signals = signal.SIGTERM) -> None:
        """End it for good."""
        with self._lock:
            self.members[name].wanted = False
        if self.members[name].runs:
            self._end(name, number)

    def stop(self) -> None:
        """End all of them with SIGTERM, the latest first, and the supervisor."""
        for name, member in reversed(self.members.items()):
            if member.wanted:
                self.retire(name)
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join()

    def abort(self) -> None:
        """Kill all that still runs."""
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join()
        for member in self.members.values():
            if member.runs and member.process is not None:
                os.kill(member.pid, signal.SIGKILL)
                member.process.wait()

    def _end(self, name: str, number: signal.Signals) -> None:
        with self._lock:
            member = self.members[name]
            process = member.process
            member.expected_ends += 1
            os.kill(member.pid, number)
        assert process is not None
        try:
            code = process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.deaths.append(f"{name} did not end within {_STOP_S:g} s of {number.name}")
            return
        begun = time.monotonic() - member.started_s > _BEGINS_S
        if number is signal.SIGTERM and code != 0 and (begun or code != -signal.SIGTERM):
            self.deaths.append(f"{name} ended with {code} after SIGTERM")

    def _supervise(self) -> None:
        while not self._enough.wait(_LOOK_S):
            with self._lock:
                for member in self.members.values():
                    self._look_after(member)

    def _look_after(self, member: Member) -> None:
        if member.process is not None and member.process.poll() is None:
            return
        if member.process is not None and member.started:
            if member.expected_ends:
                member.expected_ends -= 1
            elif member.wanted:
                self.deaths.append(f"{member.name} ended with {member.process.returncode}")
            member.process = None
        if member.wanted:
            member.start()
