"""Setting a group's offsets when no answer is waited for: nobody knows, and it is said."""

from __future__ import annotations

from typing import Any

import pytest

from connectors.kafka.errors import OffsetsUncertain
from connectors.kafka.group_offsets import GroupOffsets


class Interrupted:
    """A client that was asked, and whose answer somebody did not wait for."""

    def alter_consumer_group_offsets(self, _asked: Any, *, request_timeout: float) -> Any:
        del request_timeout
        return {"outbox-worker": self}

    def result(self, _timeout: float) -> Any:
        raise KeyboardInterrupt


def test_after_ctrl_c_the_offsets_may_be_set() -> None:
    """So that the audit table says it: the question can't be taken back."""
    offsets = GroupOffsets("kafka:9092")
    offsets._client = Interrupted()  # type: ignore[assignment]
    with pytest.raises(OffsetsUncertain, match="interrupted"):
        offsets.put("outbox-worker", "outbox.events", {0: 1}, metadata="@1")
