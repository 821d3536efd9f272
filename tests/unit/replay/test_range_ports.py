"""What a range warns of before it begins; nothing of it is on a real Kafka or Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from streams.replay import range_ports
from streams.replay.range_ports import PortsToKafka
from tests.unit.replay.range_world import BILLING, selection
from tests.unit.replay.replayed import HOUR, NOW

KEPT = timedelta(days=30)


class Empty:
    """A topic without a record."""

    def begins(self, _topic: str) -> Mapping[int, int]:
        return {0: 0}

    ends = begins

    def at_time(self, _topic: str, _moment: datetime) -> Mapping[int, int]:
        return {0: 0}


@pytest.mark.parametrize(("before", "warns"), [(KEPT - HOUR, False), (KEPT + HOUR, True)])
def test_of_events_that_are_older_than_the_delivery_log_keeps_it_says_so(
    before: timedelta, *, warns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are sent, and who looks for them there would take it that they are not."""
    monkeypatch.setattr(range_ports, "database_time", lambda _connection: NOW)
    nothing: Any = None
    empty: Any = Empty()
    ports = PortsToKafka(
        nothing,
        selection=selection(begin=NOW - before, targets=(BILLING,)),
        bootstrap_servers="",
        offsets=empty,
        log_retention_days=KEPT.days,
    )
    assert ("OUTBOX_LOG_RETENTION_DAYS" in str(ports.bounds().warning)) == warns
