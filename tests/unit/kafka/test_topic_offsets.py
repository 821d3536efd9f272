"""What is said when a broker doesn't answer: always the same error, so that whoever asks knows to ask again."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from connectors.kafka.errors import ClusterUnreachable
from connectors.kafka.topic_offsets import TopicOffsets


class Silent:
    """A client whose broker knows the topic, and then says nothing more; a broker can't be told to do that."""

    def list_topics(self, *, timeout: float) -> Any:
        del timeout
        return SimpleNamespace(topics={"outbox.events": SimpleNamespace(error=None, partitions={0: None})})

    def list_offsets(self, wanted: Any, *, request_timeout: float) -> Any:
        del request_timeout
        return {place: Future[Any]() for place in wanted}


def test_offsets_that_do_not_come_in_time_are_a_cluster_that_is_away() -> None:
    """Else a replay fails for good, as if by a defect, after its batch was sent."""
    offsets = TopicOffsets("kafka:9092", timeout=timedelta(milliseconds=1))
    offsets._opened = Silent()  # type: ignore[assignment]
    with pytest.raises(ClusterUnreachable, match=r"within 0\.001 s"):
        offsets.ends("outbox.events")
