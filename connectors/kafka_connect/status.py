"""How a connector is: what Kafka Connect says of it and its tasks, as values.

Place in the data's way: read by setup (is it streaming yet?), doctor and the watch. Must not: hold a whole
stack trace, which may quote a row. The first line of it says what happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["ConnectorStatus", "State", "TaskStatus"]

_REASON_CHARACTERS = 300


class State(StrEnum):
    """What a connector or a task does. `OTHER` is one that this code doesn't know."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    OTHER = "OTHER"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStatus:
    """One task; `reason` is the first line of its failure, empty while it has none."""

    number: int
    state: State
    worker: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorStatus:
    """A connector and its tasks."""

    name: str
    state: State
    tasks: tuple[TaskStatus, ...]
    reason: str = ""

    @property
    def running(self) -> bool:
        """Everything runs, and there is something that runs: a connector without tasks moves nothing."""
        states = [self.state, *(task.state for task in self.tasks)]
        return bool(self.tasks) and all(state is State.RUNNING for state in states)

    @property
    def failed(self) -> bool:
        """The connector or one of its tasks failed; it stays so until somebody restarts it."""
        return self.state is State.FAILED or any(task.state is State.FAILED for task in self.tasks)

    @property
    def failure(self) -> str:
        """Why it failed, in one line; empty when it didn't."""
        reasons = [self.reason, *(task.reason for task in self.tasks)]
        return next((reason for reason in reasons if reason), "")

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> "ConnectorStatus":
        """Read the answer of `GET /connectors/{name}/status`."""
        connector = answer["connector"]
        return cls(
            name=answer["name"],
            state=_state(connector["state"]),
            reason=_reason(connector),
            tasks=tuple(
                TaskStatus(
                    number=task["id"],
                    state=_state(task["state"]),
                    worker=task["worker_id"],
                    reason=_reason(task),
                )
                for task in answer["tasks"]
            ),
        )


def _state(text: str) -> State:
    return State(text) if text in State.__members__ else State.OTHER


def _reason(part: Mapping[str, Any]) -> str:
    """Give the last cause in a Java stack trace: the first line often says only that a task failed."""
    lines = str(part.get("trace", "")).splitlines()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    reason = causes[-1] if causes else next(iter(lines), "")
    return reason[:_REASON_CHARACTERS]
