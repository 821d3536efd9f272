"""A recovery's way to Postgres and Kafka: the real `RecoveryPorts`.

Place in the data's way: beneath `RecoverySource`, over the session that holds the claim. Must not: write anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg

from connectors.kafka.range_reader import RangeReader
from connectors.kafka.read_record import ReadRecord
from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.connection import database_time
from connectors.postgres.delivery_statuses import statuses_of
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import EndpointNotFoundError, EndpointUnreadableError
from connectors.postgres.log_rows import DeliveryStatus
from connectors.webhook.endpoint import Endpoint
from streams.errors import ReplayRefused
from streams.records.wire import header_map
from streams.replay.event_range import CLOCKS_DIFFER
from streams.topics import ENDPOINTS, EVENTS

__all__ = ["DatabaseAndKafka", "disabled"]

_CLIENT: Final = "outbox-replayer"
_READ: Final = 1_000
#: From when a change is on Kafka until every worker has read it.
_HEARD_WITHIN: Final = timedelta(seconds=2)


def disabled(endpoint_id: str) -> ReplayRefused:
    """What is said of an endpoint that is sent nothing."""
    return ReplayRefused(
        f"Endpoint {endpoint_id} is disabled, and is sent nothing. Enable it, and ask again."
    )


class DatabaseAndKafka:
    """What one recovery asks of both.

    Args:
        connection: the session that holds the claim.
        endpoint_id: whose recovery it is.
        bootstrap_servers: host:port, several separated by commas.
        offsets: asked about Kafka's topics.
        log_retention_days: how many days the delivery log keeps, for who asks `log_begins`.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        *,
        endpoint_id: str,
        bootstrap_servers: str,
        offsets: TopicOffsets,
        log_retention_days: int = 0,
    ) -> None:
        self._connection = connection
        self._endpoint_id = endpoint_id
        self._servers = bootstrap_servers
        self._offsets = offsets
        self._log_retention = timedelta(days=log_retention_days)
        self._changed_at: datetime | None = None
        self._heard_at: datetime | None = None
        self._unread: Mapping[int, int] | None = None

    def endpoint(self) -> Endpoint:
        """As `RecoveryPorts` says, here and below."""
        try:
            stored = EndpointStore(self._connection).stored(self._endpoint_id)
        except (EndpointNotFoundError, EndpointUnreadableError) as error:
            raise ReplayRefused(str(error)) from None
        if not stored.endpoint.enabled:
            raise disabled(self._endpoint_id)
        if self._changed_at != stored.updated_at:
            self._changed_at, self._heard_at, self._unread = stored.updated_at, None, None
        return stored.endpoint

    def change_is_known(self) -> bool:
        """Once its record is on `outbox.endpoints`, and the workers have had a moment to read it.

        Debezium writes in the order of the WAL. So events that were committed before the change are on Kafka by then,
        and will be read here; of those that come after it, the workers know the endpoint as it is.
        """
        if self._heard_at is None:
            self._heard_at = self.now() if self._is_told() else None
        return self._heard_at is not None and self.now() - self._heard_at >= _HEARD_WITHIN

    def log_begins(self) -> datetime:
        """The begin of the oldest day that the recorder keeps."""
        return datetime.combine((self.now() - self._log_retention).date(), time(), tzinfo=UTC)

    def now(self) -> datetime:
        """By Postgres' clock."""
        return database_time(self._connection)

    def offsets_since(self, moment: datetime) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """By the records' timestamps: when Connect wrote them."""
        return self._offsets.at_time(EVENTS, moment), self._offsets.begins(EVENTS)

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> RangeReader:
        """A reading in no group."""
        return self._range(EVENTS, begins, ends)

    def statuses(self, deliveries: Sequence[tuple[datetime, UUID]]) -> Mapping[UUID, DeliveryStatus]:
        """By one question to the log."""
        return statuses_of(self._connection, deliveries)

    def _is_told(self) -> bool:
        """Whether the endpoint's record of its last change, or a later one, is on `outbox.endpoints`."""
        changed_at = self._changed_at or self.now()
        ends = self._offsets.ends(ENDPOINTS)
        if self._unread is None:
            self._unread = self._offsets.at_time(ENDPOINTS, changed_at - CLOCKS_DIFFER)
        begins = {number: min(self._unread.get(number, 0), end) for number, end in ends.items()}
        reader = self._range(ENDPOINTS, begins, ends)
        try:
            key, told = self._endpoint_id.encode(), False
            while not reader.done:
                mine = [record for record in reader.read(_READ) if record.key == key]
                told = any(_is_since(record, changed_at) for record in mine) or told
            self._unread = ends
            return told
        finally:
            reader.close()

    def _range(self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]) -> RangeReader:
        return RangeReader(self._servers, topic=topic, begins=begins, ends=ends, client_id=_CLIENT)


def _is_since(record: ReadRecord, changed_at: datetime) -> bool:
    """Whether a record of the endpoint was told at its change, or after it.

    Exact, for both times are Postgres' clock: the row that tells of a change is written right after it, in the same
    transaction, and before the endpoint's lock is given up for the next change.
    """
    try:
        told_at = datetime.fromisoformat(header_map(record.headers)["created-at"].decode())
    except (KeyError, ValueError):
        return False
    return told_at.tzinfo is not None and told_at >= changed_at
