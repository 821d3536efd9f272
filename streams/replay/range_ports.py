"""A range's way to Postgres and Kafka: the real `RangePorts`, for events on Kafka and for rows of the outbox table.

Place in the data's way: beneath `RangeSource`, over the session that holds the claim, and beneath the command that
counts what would be sent. Must not: write anything, nor join a group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import psycopg

from connectors.kafka.key_partition import key_partition
from connectors.kafka.range_reader import RangeReader
from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.connection import database_time
from connectors.postgres.kept_rows import KeptRows
from connectors.webhook.endpoint import Endpoint
from streams.errors import ReplayRefused
from streams.records.target import TargetName
from streams.replay.event_range import EventRange, is_cut, surely_before
from streams.replay.range_selection import RangeSelection
from streams.replay.recovery_ports import DatabaseAndKafka
from streams.replay.row_range import RowRange, row_bounds
from streams.replay.source import Start
from streams.topics import EVENTS

__all__ = ["PortsToKafka", "PortsToTable", "range_ports"]

_CLIENT: Final = "outbox-replayer"


class _Ports(ABC):
    """What both have in common: the endpoints.

    Args:
        connection: in autocommit mode; the session that holds the claim, where there is one.
        selection: which events, and to whom.
        bootstrap_servers: host:port, several separated by commas.
        offsets: asked about Kafka's topics.
        log_retention_days: how long the delivery log keeps.
    """

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        *,
        selection: RangeSelection,
        bootstrap_servers: str,
        offsets: TopicOffsets,
        log_retention_days: int,
    ) -> None:
        self._connection = connection
        self._selection = selection
        self._servers = bootstrap_servers
        self._offsets = offsets
        self._log_kept = timedelta(days=log_retention_days)
        self._endpoints = {
            target: DatabaseAndKafka(
                connection, endpoint_id=target.name, bootstrap_servers=bootstrap_servers, offsets=offsets
            )
            for target in selection.targets
            if target.kind == "endpoint"
        }

    def endpoints(self) -> Mapping[TargetName, Endpoint]:
        """As `RangePorts` says, here and below."""
        return {target: ports.endpoint() for target, ports in self._endpoints.items()}

    def changes_are_known(self) -> bool:
        """Of all of them. Each is asked, for the time of each counts from when it was heard of."""
        known = [ports.change_is_known() for ports in self._endpoints.values()]
        return all(known)

    def bounds(self) -> Start:
        """Where they begin and end, with what all of them may warn of."""
        start = self._bounds()
        said = [start.warning] if start.warning else []
        now = database_time(self._connection)
        if self._selection.begin < now - self._log_kept:
            said.append(
                f"the delivery log keeps events of {self._log_kept.days} days (OUTBOX_LOG_RETENTION_DAYS): of older "
                "ones it does not say what becomes of them; those that fail become dead letters, as others do"
            )
        if self._selection.end > now:
            said.append(
                f"{self._selection.end:%Y-%m-%dT%H:%M:%SZ} is in the future: it ends with the events that were there "
                "when it began"
            )
        return Start(
            begins=start.begins, ends=start.ends, to_read=start.to_read, warning="; ".join(said) or None
        )

    @abstractmethod
    def _bounds(self) -> Start: ...

    @abstractmethod
    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> EventRange:
        """A reading between these."""


class PortsToKafka(_Ports):
    """Events where they lie on `outbox.events`."""

    def _bounds(self) -> Start:
        """From where Kafka finds the time, by its records' timestamps, to where the topic ends now.

        To its end whatever `end` is: a connector that was down writes an event long after its commit.
        """
        found, ends = (
            self._offsets.at_time(EVENTS, surely_before(self._selection.begin)),
            self._offsets.ends(EVENTS),
        )
        begins = {number: min(found.get(number, end), end) for number, end in ends.items()}
        cut = is_cut(begins, self._offsets.begins(EVENTS))
        return Start(
            begins=begins,
            ends=ends,
            to_read=sum(end - begins[number] for number, end in ends.items()),
            warning=self._cut() if cut else None,
        )

    def _cut(self) -> str:
        return (
            f"Kafka has deleted events of {EVENTS} that may be from after "
            f"{self._selection.begin:%Y-%m-%dT%H:%M:%SZ} (OUTBOX_RETENTION_HOURS): those were left out. Where the rows "
            "of the outbox table are kept, --source postgres sends them"
        )

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> RangeReader:
        """A reading in no group."""
        return RangeReader(self._servers, topic=EVENTS, begins=begins, ends=ends, client_id=_CLIENT)


class PortsToTable(_Ports):
    """Rows of the outbox table, as the records that Debezium made of them."""

    def _bounds(self) -> Start:
        rows = KeptRows(self._connection)
        if not rows.can_be_paged():
            raise ReplayRefused(
                "The outbox table is too large to be read by time without an index, and a sort of it for every page "
                "would hold up the database. Make one, which holds up nobody: create index concurrently "
                "outbox_by_created_at on outbox.outbox (created_at, id). Then ask again."
            )
        return row_bounds(rows, self._selection, now=database_time(self._connection))

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> RowRange:
        """Page by page, each a statement of its own."""
        partitions = len(self._offsets.ends(EVENTS))
        return RowRange(
            KeptRows(self._connection),
            begins=begins,
            ends=ends,
            partition_of=lambda key: key_partition(key, partitions),
        )


def range_ports(
    connection: psycopg.Connection[Any],
    selection: RangeSelection,
    *,
    bootstrap_servers: str,
    offsets: TopicOffsets,
    log_retention_days: int,
) -> PortsToKafka | PortsToTable:
    """The way to where a selection's events are read."""
    made = PortsToKafka if selection.events_from == "kafka" else PortsToTable
    return made(
        connection,
        selection=selection,
        bootstrap_servers=bootstrap_servers,
        offsets=offsets,
        log_retention_days=log_retention_days,
    )
