"""One service of the stack: a child process with a log, ports, and a question that it answers when it is ready.

Each of the three says how it is prepared, started and asked; everything about its life is here. Not a supervisor: a
service that dies stays dead until someone starts it again.
"""

import random
import signal
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Literal

from devstack.child import MARK_SEPARATOR, Command, end, kill_family, spawn
from devstack.errors import StartError, StateError
from devstack.port import choose_ports
from devstack.process_identity import ProcessIdentity
from devstack.state import StateFile

__all__ = ["Service", "ServiceName"]

ServiceName = Literal["postgres", "kafka", "connect"]

_ASK_AGAIN_AFTER_S = 0.05
_TAIL_LINES = 15


class Service(ABC):
    """A service in one state folder. Several objects, also in several processes, may stand for the same one."""

    name: ClassVar[ServiceName]
    listeners: tuple[str, ...]
    """The names of its ports; the first is the one that clients use."""
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    ready_within: ClassVar[timedelta] = timedelta(seconds=120)
    stop_within: ClassVar[timedelta] = timedelta(seconds=10)

    def __init__(self, *, state: StateFile, rng: random.Random) -> None:
        self.state = state
        self._rng = rng

    @property
    def folder(self) -> Path:
        """What this service keeps, below the state folder."""
        return self.state.path.parent / self.name

    @property
    def log(self) -> Path:
        """What it printed since it was last started. Before that: the same name with `.previous`."""
        return self.state.path.parent / "logs" / f"{self.name}.log"

    @property
    def port(self) -> int:
        """The port that clients use; 0 before the first start."""
        return self.state.read().ports.get(self.listeners[0], 0)

    @property
    def ports(self) -> tuple[int, ...]:
        """All its ports; none before the first start."""
        known = self.state.read().ports
        return tuple(known[name] for name in self.listeners if name in known)

    @property
    def pid(self) -> int | None:
        """The running process; None when there is none."""
        identity = self._recorded()
        return identity.pid if identity is not None and identity.is_alive() else None

    @property
    def has_died(self) -> bool:
        """Whether it was started, not stopped, and is gone."""
        identity = self._recorded()
        return identity is not None and not identity.is_alive()

    def start(self) -> None:
        """Start it if it isn't running, on the remembered ports unless someone else took them. Does not wait.

        Raises:
            DevstackError: it can't be prepared or started.
        """
        if self.pid is not None:
            return
        self.state.change(
            lambda known: known.with_ports(
                choose_ports(self.listeners, remembered=known.ports, rng=self._rng)
            )
        )
        self._make_folder()
        self.prepare()
        command = self.command()
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".previous.log"))
        identity = spawn(command, log=self.log)
        if identity is None:
            raise StartError(self._complaint("died at once"))
        self.state.change(lambda known: known.with_process(self.name, identity))

    def wait_ready(self) -> None:
        """Return when it answers real requests.

        Raises:
            StartError: it died, or its deadline passed. The message ends with the last lines of its log.
        """
        deadline = time.monotonic() + self.ready_within.total_seconds()
        while not self.is_ready():
            if self.pid is None:
                raise StartError(self._complaint("died"))
            if time.monotonic() > deadline:
                raise StartError(
                    self._complaint(f"did not answer within {self.ready_within.total_seconds():.0f} s")
                )
            time.sleep(_ASK_AGAIN_AFTER_S)

    def terminate(self) -> None:
        """End it as it likes to be ended; if that takes too long, kill it. Returns when it is gone."""
        identity = self._recorded()
        if identity is not None:
            end(identity, with_signal=self.stop_signal, patience=self.stop_within)
            self.state.change(lambda known: known.with_process(self.name, None))

    def kill(self) -> None:
        """Kill it and its children at once, as a crash would. It counts as dead, not as stopped."""
        identity = self._recorded()
        if identity is not None:
            kill_family(identity)

    @property
    def mark(self) -> str:
        """What its processes carry in their environment."""
        return f"{self.name}{MARK_SEPARATOR}{self.state.path.parent}"

    @abstractmethod
    def prepare(self) -> None:
        """Make what it needs on disk. Repeatable, and safe to be killed in."""

    @abstractmethod
    def command(self) -> Command:
        """How it is started on the ports that the state now names."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Ask it something that only a working server answers."""

    def _make_folder(self) -> None:
        try:
            # Ours alone: Kafka keeps the connector's configuration, and in it the database's password.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(
                f"{self.folder} can't be made ({error.strerror}): make room or rights there"
            ) from error

    def _recorded(self) -> ProcessIdentity | None:
        return self.state.read().processes.get(self.name)

    def _complaint(self, what: str) -> str:
        tail: list[str] = []
        with suppress(OSError):
            tail = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        if any("No space left on device" in line for line in tail):
            what = "found no space left on the disk (make room, then start again) and died"
        lines = "".join(f"\n    {line}" for line in tail)
        return f"{self.name} {what}. Its log is {self.log}" + (f", and ends with:{lines}" if lines else ".")
