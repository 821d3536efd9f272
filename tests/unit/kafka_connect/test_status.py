"""A connector's status, read from Kafka Connect's answers."""

from typing import Any

import pytest

from connectors.kafka_connect.status import ConnectorStatus, State


def answer(connector: str, *tasks: str, trace: str = "") -> dict[str, Any]:
    return {
        "name": "outbox",
        "connector": {"state": connector, "worker_id": "w:1"},
        "tasks": [{"id": n, "state": s, "worker_id": "w:1", "trace": trace} for n, s in enumerate(tasks)],
    }


@pytest.mark.parametrize(
    ("connector", "tasks", "running", "failed"),
    [
        ("RUNNING", ["RUNNING"], True, False),
        ("RUNNING", [], False, False),
        ("RUNNING", ["FAILED"], False, True),
        ("FAILED", [], False, True),
        ("STOPPED", [], False, False),
        ("RUNNING", ["RUNNING", "UNASSIGNED"], False, False),
        ("RUNNING", ["A_STATE_OF_A_LATER_VERSION"], False, False),
    ],
)
def test_running_means_that_something_moves(
    connector: str, tasks: list[str], *, running: bool, failed: bool
) -> None:
    """A connector says RUNNING while its only task has failed, and while it has none: neither moves a row."""
    status = ConnectorStatus.from_json(answer(connector, *tasks))
    assert (status.running, status.failed) == (running, failed)


def test_the_reason_is_the_last_cause() -> None:
    """Of a Java trace, the last cause says what happened; a whole trace may quote a row."""
    trace = "ConnectException: failed\n\tat a\nCaused by: PSQLException: no slot\n\tat b\nCaused by: EOF: gone\n\tat c"
    status = ConnectorStatus.from_json(answer("RUNNING", "FAILED", trace=trace))
    assert status.failure == "EOF: gone"
    assert ConnectorStatus.from_json(answer("RUNNING", "FAILED", trace="x" * 9_999)).failure == "x" * 300
    assert status.tasks[0].state is State.FAILED
