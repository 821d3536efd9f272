"""What a recovery asks of Postgres and Kafka, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.webhook.endpoint import Endpoint
from outbox.event import Event
from streams.errors import ReplayRefused
from streams.replay.completeness import Completeness
from streams.replay.recovery_source import RecoverySource
from streams.replay.selection import RecoverySelection
from streams.replay.source import Start
from streams.topics import EVENTS
from tests.unit.replay.replayed import HOUR, NOW, TARGET, Range, a_replay, record
from tests.unit.replay.test_completeness import Kafka
from tests.unit.webhook.records import endpoint

__all__ = ["World", "read_all"]


class World:
    """Ports of a recovery: one partition of events, an endpoint, and a log."""

    def __init__(self, *events: Event | ReadRecord) -> None:
        self.records = [
            replace(one, offset=offset) if isinstance(one, ReadRecord) else record(one, offset)
            for offset, one in enumerate(events)
        ]
        self.known = True
        self.found_endpoint: Endpoint | ReplayRefused = endpoint(event_types=("order.*",))
        self.begins_at = NOW - 30 * 24 * HOUR
        self.log: dict[UUID, Any] = {}
        self.asked_since: datetime | None = None
        self.found: Mapping[int, int] = {0: 0}
        self.first_kept: Mapping[int, int] = {0: 0}

    def endpoint(self) -> Endpoint:
        if isinstance(self.found_endpoint, ReplayRefused):
            raise self.found_endpoint
        return self.found_endpoint

    def change_is_known(self) -> bool:
        return self.known

    def log_begins(self) -> datetime:
        return self.begins_at

    def now(self) -> datetime:
        return NOW

    def offsets_since(self, moment: datetime) -> tuple[Mapping[int, int], Mapping[int, int]]:
        self.asked_since = moment
        return self.found, self.first_kept

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> Range:
        return Range(self.records, begins, ends)

    def statuses(self, deliveries: Sequence[tuple[datetime, UUID]]) -> Mapping[UUID, Any]:
        return {identifier: self.log[identifier] for _, identifier in deliveries if identifier in self.log}

    def source(self, *, since: datetime = NOW - HOUR, until: datetime | None = None) -> RecoverySource:
        kafka = Kafka()
        kafka.end[EVENTS] = {0: len(self.records)}
        kafka.commit["outbox-worker", EVENTS] = {0: len(self.records)}
        return RecoverySource(
            RecoverySelection(since=since, until=until),
            target=TARGET,
            ports=self,
            completeness=Completeness(kafka),
        )


def read_all(source: RecoverySource, *, most: int = 100) -> list[UUID]:
    """Plan, open, and read to the end; the events that are still due."""
    start = source.plan()
    assert isinstance(start, Start)
    source.open(a_replay(start))
    due: list[UUID] = []
    count = 0
    while (batch := source.read(most)) is not None:
        assert len(batch.deliveries) <= most
        count += batch.read
        due += [one.event.id for one in source.still_due(batch.deliveries)]
    assert count == start.to_read
    return due
