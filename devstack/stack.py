"""The local stack: Postgres, Kafka and Kafka Connect, started together, reached through three addresses.

`Stack` is all that others need of it, so that a second implementation (containers) can take its place. `EmbeddedStack`
runs the three as child processes. It starts them side by side, waits for real answers, and leaves nobody behind to
watch them: `status` looks, and `start` starts again what died.

Invariants: everything listens on loopback only; one command at a time works on a state folder; whatever was killed
before, the next start works; a process is signalled only when it is surely ours.
"""

import random
import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Literal, Protocol

from devstack.bring_up import bring_up
from devstack.child import MARK_SEPARATOR, marked_processes
from devstack.connect import Connect
from devstack.errors import RemovalError, StackNotRunningError, StateError
from devstack.guard import end_guard, start_guard
from devstack.interrupts import uninterrupted
from devstack.jars import default_jar_cache, ensure_jars, locked_jars
from devstack.java import JAVA_OPTIONS, find_java
from devstack.kafka import Kafka
from devstack.postgres import Postgres
from devstack.postgres_home import find_home, find_programs
from devstack.progress import Progress, ProgressListener, silent
from devstack.service import Service, ServiceName
from devstack.settings import StackSettings
from devstack.state import StateFile
from devstack.state_lock import exclusive
from devstack.stray import end_strays

__all__ = ["EmbeddedStack", "Lifetime", "ServiceStatus", "Stack", "temporary_stack"]

_LEAST_FREE_BYTES = 512 * 1024 * 1024
_AT_ONCE = timedelta(0)
_REMOVAL_PATIENCE = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """How one service is. *dead*: it was started and not stopped, and is gone; its log says why."""

    name: ServiceName
    state: Literal["running", "dead", "stopped"]
    pid: int | None
    port: int
    log: Path


class Stack(Protocol):
    """A stack that can be started, asked and stopped."""

    def start(self, on_progress: ProgressListener = silent) -> StackSettings:
        """Return when all of it answers. Does no harm when it runs already; starts again what died."""

    def stop(self) -> None:
        """Return when all of it is gone. Does no harm when nothing runs. What it stored stays."""

    def status(self) -> tuple[ServiceStatus, ...]:
        """Look, and change nothing."""


class Lifetime(Enum):
    """How long a started stack runs."""

    DETACHED = "until someone stops it"
    PROCESS = "as long as the process that started it, even if that is killed; what it stored stays"
    TEMPORARY = "as long as the process that started it; what it stored goes with it"


class EmbeddedStack:
    """The stack as child processes, with all that they keep in one state folder.

    `kafka_via` is the host and port where a proxy will listen. Kafka then has a second listener, for the proxy to
    connect to (`kafka.proxied_port`), and sends those who come by it back to that host and port.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        lifetime: Lifetime = Lifetime.PROCESS,
        jar_cache: Path | None = None,
        java_options: Sequence[str] = JAVA_OPTIONS,
        kafka_via: tuple[str, int] | None = None,
    ) -> None:
        self.state_dir = state_dir.expanduser().resolve()
        self._lifetime = lifetime
        self._jar_cache = jar_cache or default_jar_cache()
        self._locked = locked_jars()
        self._state = StateFile(self.state_dir / "stack.json")
        rng = random.SystemRandom()
        jars = [self._jar_cache / jar.coordinate.path for jar in self._locked]
        self.postgres = Postgres(state=self._state, rng=rng)
        self.kafka = Kafka(state=self._state, rng=rng, jars=jars, java_options=java_options, via=kafka_via)
        self.connect = Connect(
            state=self._state,
            rng=rng,
            jars=jars,
            java_options=java_options,
            bootstrap_servers=lambda: self.kafka.bootstrap_servers,
        )
        self.services: tuple[Service, ...] = (self.postgres, self.kafka, self.connect)

    def start(self, on_progress: ProgressListener = silent) -> StackSettings:
        """Start what doesn't run, and return when all of it answers.

        Raises:
            DevstackError: it can't be started; what this call had started is ended again.
        """
        tell = _one_at_a_time(on_progress)
        with self._exclusive():
            self._check_room()
            find_java()
            find_programs()
            self._state.change(lambda known: known)
            end_strays(self._state)
            ensure_jars(self._locked, cache=self._jar_cache, on_progress=tell)
            if self._lifetime is not Lifetime.DETACHED and all(
                service.pid is None for service in self.services
            ):
                # Whoever starts it from nothing holds it up; who finds it running, or mends it, doesn't.
                start_guard(self.state_dir, remove=self._lifetime is Lifetime.TEMPORARY)
            bring_up(postgres=self.postgres, kafka=self.kafka, connect=self.connect, tell=tell)
            return self.settings

    def stop(self, *, wait: timedelta = _AT_ONCE) -> None:
        """Stop what runs, Connect first, and return when all of it is gone.

        Args:
            wait: how long to wait for another command that is working on this stack.
        """
        if not self.state_dir.exists():
            self.end_leftovers()
            return
        with self._exclusive(wait=wait):
            self._stop_all()

    def remove(self, *, wait: timedelta = _AT_ONCE) -> None:
        """Stop it, and delete all that it stored, logs included. The next start begins anew."""
        if not self.state_dir.exists():
            self.end_leftovers()
            return
        with self._exclusive(wait=wait):
            self._stop_all()
            ours = [find_home(self._state).folder, *(service.folder for service in self.services)]
            for path in (*ours, self.kafka.log.parent):
                shutil.rmtree(path, ignore_errors=True)
            self._state.path.unlink(missing_ok=True)
            self._lock_path.unlink(missing_ok=True)
        with suppress(OSError):
            self.state_dir.rmdir()  # only if nothing else is kept there

    @property
    def exists(self) -> bool:
        """Whether its folder knows of a stack, running or not."""
        return self._state.path.exists()

    def end_leftovers(self) -> tuple[str, ...]:
        """End what runs of it although nothing in its folder, or no folder, says so; returns what that was."""
        return end_strays(self._state)

    def status(self) -> tuple[ServiceStatus, ...]:
        """How each service is."""
        return tuple(_status(service) for service in self.services)

    def service(self, name: ServiceName) -> Service:
        """One service by its name, to be killed and started on its own."""
        return next(service for service in self.services if service.name == name)

    @property
    def settings(self) -> StackSettings:
        """How to reach the started stack.

        Raises:
            StackNotRunningError: it doesn't run, or not all of it.
        """
        if not self.exists:
            raise StackNotRunningError(
                f"there is no stack in {self.state_dir}: `outbox dev up` starts the stack there, "
                "`--state-dir DIR` names another folder"
            )
        for service in self.services:
            if service.pid is None:
                raise StackNotRunningError(
                    f"{service.name} of the stack in {self.state_dir} doesn't run: `outbox dev up` starts the stack"
                )
        return StackSettings(
            database_url=self.postgres.url,
            kafka_bootstrap_servers=self.kafka.bootstrap_servers,
            connect_url=self.connect.url,
        )

    @property
    def _lock_path(self) -> Path:
        return self.state_dir / "stack.lock"

    @contextmanager
    def _exclusive(self, *, wait: timedelta = _AT_ONCE) -> Iterator[None]:
        with exclusive(self._lock_path, wait=wait):
            yield

    def _check_room(self) -> None:
        free = shutil.disk_usage(self.state_dir).free
        if free < _LEAST_FREE_BYTES:
            raise StateError(
                f"only {free >> 20} MiB are free where {self.state_dir} stands: make room for at least "
                f"{_LEAST_FREE_BYTES >> 20} MiB, then start again."
            )

    def _stop_all(self) -> None:
        # Connect first: a Postgres that stops waits for those who still read its WAL.
        self.connect.terminate()
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda service: service.terminate(), (self.postgres, self.kafka)))
        end_strays(self._state)
        end_guard(self.state_dir)


@contextmanager
def temporary_stack(
    on_progress: ProgressListener = silent, *, kafka_via: tuple[str, int] | None = None
) -> Iterator[EmbeddedStack]:
    """A started stack in a folder of its own, all of which goes away after the block, or when this process dies."""
    folder = Path(tempfile.mkdtemp(prefix="outbox-"))
    stack = EmbeddedStack(folder, lifetime=Lifetime.TEMPORARY, kafka_via=kafka_via)
    try:
        stack.start(on_progress)
        yield stack
    finally:
        with uninterrupted():
            _remove_all(stack)


def _remove_all(stack: EmbeddedStack) -> None:
    # The folder goes last: while a process may still run, it holds what finds that process.
    stack.remove(wait=_REMOVAL_PATIENCE)
    left = sorted(
        mark for mark, _ in marked_processes() if mark.endswith(f"{MARK_SEPARATOR}{stack.state_dir}")
    )
    if left:
        raise RemovalError(
            f"still running: {', '.join(left)}. `outbox dev down --state-dir {stack.state_dir}` ends it"
        )
    shutil.rmtree(stack.state_dir, ignore_errors=True)
    if stack.state_dir.exists():
        raise RemovalError(f"the folder {stack.state_dir} could not be deleted: delete it")


def _status(service: Service) -> ServiceStatus:
    pid = service.pid
    state: Literal["running", "dead", "stopped"] = (
        "running" if pid else "dead" if service.has_died else "stopped"
    )
    return ServiceStatus(name=service.name, state=state, pid=pid, port=service.port, log=service.log)


def _one_at_a_time(listener: ProgressListener) -> ProgressListener:
    speaking = threading.Lock()

    def tell(progress: Progress) -> None:
        with speaking:
            listener(progress)

    return tell
