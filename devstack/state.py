"""What a stack remembers in its state folder: `stack.json`, one small file replaced as a whole.

A file that can't be read counts as none: a stack can always be started anew, and what may still run is found by the
mark that its processes carry (`devstack.child`).
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devstack.errors import StateError
from devstack.process_identity import ProcessIdentity

__all__ = ["StackState", "StateFile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackState:
    """Ports by listener, processes by service, and where Postgres lives when it can't in the state folder."""

    postgres_folder: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[str, ProcessIdentity] = field(default_factory=dict)

    def with_ports(self, ports: Mapping[str, int]) -> "StackState":
        """The same state with these listeners' ports."""
        return replace(self, ports={**self.ports, **ports})

    def with_process(self, service: str, identity: ProcessIdentity | None) -> "StackState":
        """The same state with this service's process recorded, or forgotten."""
        others = {name: known for name, known in self.processes.items() if name != service}
        return replace(self, processes=others if identity is None else {**others, service: identity})


class StateFile:
    """`stack.json`. Changes of several threads are applied one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changing = threading.Lock()

    def read(self) -> StackState:
        """The remembered state; an empty one when there is none, or it is damaged.

        Raises:
            StateError: it may not be read.
        """
        try:
            return _from_json(json.loads(self.path.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return StackState()
        except OSError as error:
            raise StateError(
                f"{self.path} can't be read ({error.strerror}): give back its rights, or use another folder"
            ) from error

    def change(self, change: Callable[[StackState], StackState]) -> StackState:
        """Apply a change to what the file holds, and write the outcome whole.

        Raises:
            StateError: it can't be written.
        """
        with self._changing:
            state = change(self.read())
            draft = self.path.with_suffix(".draft")
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                draft.write_text(json.dumps(_to_json(state), indent=2) + "\n", encoding="utf-8")
                draft.replace(self.path)
            except OSError as error:
                raise StateError(
                    f"{self.path} can't be written ({error.strerror}): make room or rights"
                ) from error
            return state


def _to_json(state: StackState) -> dict[str, Any]:
    return {
        "postgres_folder": state.postgres_folder,
        "ports": dict(state.ports),
        "processes": {
            name: {"pid": known.pid, "birth": known.birth} for name, known in state.processes.items()
        },
    }


def _from_json(document: Any) -> StackState:
    return StackState(
        postgres_folder=str(document["postgres_folder"]),
        ports={str(name): int(port) for name, port in document["ports"].items()},
        processes={
            str(name): ProcessIdentity(pid=int(known["pid"]), birth=str(known["birth"]))
            for name, known in document["processes"].items()
        },
    )
