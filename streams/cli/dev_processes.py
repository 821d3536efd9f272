"""Worker, scheduler, recorder and API in the background, beside an embedded stack: started, found again, stopped.

They are recorded in the stack's state, each by pid and time of birth, and carry its mark. So a start that was killed
leaves nothing that blocks the next one, and nobody else's process is ever signalled. Not a supervisor: what dies stays
dead until the next `outbox dev up --all`.

Needs the devstack extra: import it only when a command runs.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

from connectors.kafka.groups import ConsumerGroups
from devstack.child import MARK_SEPARATOR, MARK_VARIABLE, end
from devstack.errors import StartError
from devstack.port import LOOPBACK, choose_ports
from devstack.process_identity import ProcessIdentity
from devstack.settings import StackSettings
from devstack.state import StateFile
from devstack.state_lock import exclusive
from streams.topics import RECORDER_GROUP, SCHEDULER_GROUP, WORKER_GROUP

__all__ = ["DevProcesses", "ProcessStatus", "development_environment"]

_GROUPS: Mapping[str, str] = {
    "worker": WORKER_GROUP,
    "scheduler": SCHEDULER_GROUP,
    "recorder": RECORDER_GROUP,
}
#: Those that listen, each on a port of loopback that stays its own.
_LISTENERS = ("api",)
_NAMES = (*_GROUPS, *_LISTENERS)
# Above the drain limit's default: a worker in the middle of attempts may take that long.
_STOPPED_WITHIN = timedelta(seconds=30)
_READY_WITHIN = timedelta(seconds=60)
_ASK_AGAIN_AFTER_S = 0.1
_TAIL_LINES = 8
# Receivers under development listen on loopback, which workers refuse otherwise.
_LOOPBACK = {"OUTBOX_ENDPOINT_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128"}


def development_environment(addresses: StackSettings, *, around: Mapping[str, str]) -> dict[str, str]:
    """What programs need to work on a local stack: its addresses, and leave to deliver to this machine.

    Networks that the environment `around` allows already are kept.
    """
    allowed = {name: around.get(name, value) for name, value in _LOOPBACK.items()}
    return {**addresses.as_env(), **allowed}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStatus:
    """How one process is. *dead*: it was started and not stopped, and is gone; its log says why."""

    name: str
    state: Literal["running", "dead", "stopped"]
    pid: int | None
    log: Path
    port: int = 0


class DevProcesses:
    """The processes that belong to the stack in one state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir.expanduser().resolve()
        self._state = StateFile(self._folder / "stack.json")

    def start(self, addresses: StackSettings) -> tuple[str, ...]:
        """Start what doesn't run, with the settings of our environment at these addresses; returns what was started.

        Returns when all that was started owns partitions, or answers.

        Raises:
            DevstackError: one can't be started, died, or takes too long. The message ends with the end of its log.
        """
        groups = ConsumerGroups(addresses.kafka_bootstrap_servers)
        with exclusive(self._lock):
            missing = tuple(status.name for status in self.status() if status.state != "running")
            environment = {
                **os.environ,
                **development_environment(addresses, around=os.environ),
                **self._listening(missing),
            }
            # Members that were killed are in the group until their sessions end: not the ones to wait for.
            earlier = {
                name: groups.owned_partitions(_GROUPS[name]).keys() for name in missing if name in _GROUPS
            }
            for name in missing:
                self._start(name, environment)
            for name in missing:
                if name in _GROUPS:
                    self._wait_ready(name, lambda name=name: _owns(groups, name, earlier=earlier[name]))  # type: ignore[misc]
                else:
                    port = self._state.read().ports[name]
                    self._wait_ready(name, lambda port=port: _answers(port))  # type: ignore[misc]
        return missing

    def stop(self) -> tuple[str, ...]:
        """Ask all of them to stop, kill what doesn't in time; returns what was stopped, when it is gone."""
        if not self._state.path.exists():
            return ()
        with exclusive(self._lock):
            recorded = {name: self._state.read().processes.get(name) for name in _NAMES}
            running = {name: known for name, known in recorded.items() if known is not None}
            with ThreadPoolExecutor() as pool:
                list(pool.map(_end, running.values()))
            for name in running:
                self._state.change(lambda known, name=name: known.with_process(name, None))  # type: ignore[misc]
        return tuple(running)

    def status(self) -> tuple[ProcessStatus, ...]:
        """How each of them is."""
        known = self._state.read()
        return tuple(
            self._status(name, known.processes.get(name), port=known.ports.get(name, 0)) for name in _NAMES
        )

    @property
    def _lock(self) -> Path:
        return self._folder / "stack.lock"

    def _log(self, name: str) -> Path:
        return self._folder / "logs" / f"{name}.log"

    def _start(self, name: str, environment: Mapping[str, str]) -> None:
        log = self._log(name)
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
        mark = f"{name}{MARK_SEPARATOR}{self._folder}"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: S603 - our own argument list, no shell
                [sys.executable, "-m", "streams.cli", name],
                env={**environment, MARK_VARIABLE: mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # it outlives the terminal
            )
        identity = ProcessIdentity.of(process.pid)
        if identity is None:
            raise StartError(f"{name} died at once. {_ending(log)}")
        self._state.change(lambda known: known.with_process(name, identity))

    def _listening(self, names: Collection[str]) -> dict[str, str]:
        """Where those that listen are to do it: the port that they had while it is free, else another."""
        ports = choose_ports(
            [name for name in _LISTENERS if name in names],
            remembered=self._state.read().ports,
            rng=random.Random(),  # noqa: S311 - chance for a port, not for a secret
        )
        self._state.change(lambda known: known.with_ports(ports))
        return {f"OUTBOX_{name.upper()}_LISTEN": f"{LOOPBACK}:{port}" for name, port in ports.items()}

    def _wait_ready(self, name: str, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_WITHIN.total_seconds()
        while not is_ready():
            dead = [status for status in self.status() if status.state == "dead"]
            if dead:
                raise StartError("\n".join(f"{one.name} died. {_ending(one.log)}" for one in dead))
            if time.monotonic() > deadline:
                within = f"{_READY_WITHIN.total_seconds():g} s"
                what = "was given no partitions" if name in _GROUPS else "gave no answer"
                raise StartError(f"{name} {what} within {within}. {_ending(self._log(name))}")
            time.sleep(_ASK_AGAIN_AFTER_S)

    def _status(self, name: str, identity: ProcessIdentity | None, *, port: int) -> ProcessStatus:
        if identity is None:
            return ProcessStatus(name=name, state="stopped", pid=None, log=self._log(name))
        alive = identity.is_alive()
        return ProcessStatus(
            name=name,
            state="running" if alive else "dead",
            pid=identity.pid if alive else None,
            log=self._log(name),
            port=port,
        )


def _owns(groups: ConsumerGroups, name: str, *, earlier: Collection[str]) -> bool:
    owned = groups.owned_partitions(_GROUPS[name])
    return any(partitions for member, partitions in owned.items() if member not in earlier)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=_ASK_AGAIN_AFTER_S):
        return True
    return False


def _end(identity: ProcessIdentity) -> None:
    end(identity, with_signal=signal.SIGTERM, patience=_STOPPED_WITHIN)


def _ending(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
    return f"Its log is {log}, and ends with:" + "".join(f"\n    {line}" for line in lines or ["(nothing)"])
