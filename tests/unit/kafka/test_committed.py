"""What a group has committed, where its coordinator refuses the question as a whole: never "nothing"."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaError

from connectors.kafka.committed import GroupCommit, _answer

LOADING = 14


class Coordinator:
    """A client whose group's coordinator answers this; a broker is in such a state for a moment after its start."""

    def __init__(self, topics: list[Any], error_code: int = 0) -> None:
        self._answer = SimpleNamespace(topics=topics, error_code=error_code)

    async def find_coordinator(self, _group: str) -> int:
        return 1

    async def _send_request(self, _request: Any, _node: int) -> Any:
        return self._answer


@pytest.mark.parametrize(
    "coordinator",
    [Coordinator([], LOADING), Coordinator([("t", [(0, -1, "", LOADING)])])],
    ids=["all", "one"],
)
def test_a_refusal_is_not_an_empty_group(coordinator: Any) -> None:
    """Or a reset would say that nothing is committed while the group is being loaded."""
    with pytest.raises(KafkaError):
        asyncio.run(_answer(coordinator, "outbox-worker"))


def test_commits_are_given_with_their_metadata() -> None:
    """Which may be null on the wire."""
    coordinator: Any = Coordinator([("t", [(0, 7, "@1", 0), (1, 8, None, 0)])])
    assert asyncio.run(_answer(coordinator, "outbox-worker")) == {
        ("t", 0): GroupCommit(offset=7, metadata="@1"),
        ("t", 1): GroupCommit(offset=8, metadata=""),
    }
