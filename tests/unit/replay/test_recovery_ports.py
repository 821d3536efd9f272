"""When a recovery takes the workers to know the endpoint's last change; on records in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from connectors.kafka.read_record import ReadRecord
from streams.replay.recovery_ports import DatabaseAndKafka
from streams.topics import ENDPOINTS
from tests.unit.replay.replayed import NOW, Range

CHANGED_AT = NOW - timedelta(minutes=1)
MOMENT = timedelta(microseconds=1)


class Told(DatabaseAndKafka):
    """Ports whose endpoint was changed at `CHANGED_AT`, and whose topic has these records."""

    def __init__(self, *records: ReadRecord) -> None:
        super().__init__(
            None,  # type: ignore[arg-type]
            endpoint_id="ep_1",
            bootstrap_servers="",
            offsets=self,  # type: ignore[arg-type]
            log_retention_days=30,
        )
        self.records = list(records)
        self.at = NOW
        self._changed_at = CHANGED_AT

    def now(self) -> datetime:
        return self.at

    def ends(self, _topic: str) -> Mapping[int, int]:
        return {0: len(self.records)}

    def at_time(self, _topic: str, _moment: datetime) -> Mapping[int, int]:
        return {0: 0}

    def _range(self, _topic: str, begins: Mapping[int, int], ends: Mapping[int, int]) -> Any:
        placed = [told(one.headers, key=one.key, offset=at) for at, one in enumerate(self.records)]
        return Range(placed, begins, ends)

    def is_known(self) -> bool:
        """Asked, and asked again when the workers have had their moment."""
        self.change_is_known()
        self.at += timedelta(seconds=2)
        return self.change_is_known()


def told(headers: Any, *, key: bytes | None = b"ep_1", offset: int = 0) -> ReadRecord:
    return ReadRecord(topic=ENDPOINTS, partition=0, offset=offset, key=key, value=b"{}", headers=headers)


def told_at(moment: datetime, *, key: bytes = b"ep_1") -> ReadRecord:
    return told([("created-at", moment.isoformat().encode())], key=key)


def test_an_earlier_change_of_the_same_minutes_is_not_the_last_one() -> None:
    """Disabled and enabled again while the connector was down: its record from before says nothing of that."""
    ports = Told(told_at(CHANGED_AT - MOMENT), told_at(CHANGED_AT + MOMENT, key=b"ep_2"), told([]))
    assert not ports.is_known()
    ports.records.append(told_at(CHANGED_AT + MOMENT))
    assert not ports.change_is_known()
    assert ports.is_known()


def test_the_last_change_and_what_is_told_after_it_count() -> None:
    """Its outbox row is written after the endpoint's, in the same transaction and by the same clock."""
    assert Told(told_at(CHANGED_AT)).is_known()
    assert Told(told_at(CHANGED_AT - MOMENT), told_at(CHANGED_AT + timedelta(hours=1))).is_known()


def test_a_record_whose_time_can_not_be_read_is_not_it() -> None:
    """Whatever somebody has written onto the topic."""
    assert not Told(
        told([("created-at", b"yesterday")]),
        told([("created-at", b"2027-01-01T00:00:00")]),
        told([("created-at", None)]),
    ).is_known()
