"""The events of a range, for the targets that were named: a range replay.

Place in the data's way: a `Source` of the replayer. It reads events where they lie, from a time on and to where they
ended when it began, and keeps those that match; an endpoint gets what it wants as it is now, a handler what matches.
Unlike a recovery it does not look at the delivery log: what was delivered before is sent again, for that was asked.
It begins after an endpoint's last change has reached the workers, which would cancel what they know no target of.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.stored_replay import Replay
from connectors.webhook.endpoint import Endpoint
from outbox.event import Event
from streams.records.delivery import Delivery, Origin
from streams.records.target import TargetName
from streams.replay.event_range import EventRange, event_of
from streams.replay.pace import surely_fitting
from streams.replay.range_selection import RangeSelection
from streams.replay.source import Batch, NotYet, Sendable, Start, Verdict

__all__ = ["RangePorts", "RangeSource", "Targets"]

_READ: Final = 2_000
#: Debezium repeats events after a crash, close together.
_REMEMBERED: Final = 50_000


class RangePorts(Protocol):
    """What a range asks of Postgres and Kafka. All may raise `PostgresError` and `KafkaEdgeError`."""

    def endpoints(self) -> Mapping[TargetName, Endpoint]:
        """The endpoints among the targets, as they are now.

        Raises:
            ReplayRefused: one is disabled, or was removed.
        """
        ...

    def changes_are_known(self) -> bool:
        """Whether the endpoints' last changes have reached the workers, as far as one can tell."""
        ...

    def bounds(self) -> Start:
        """Where its events begin and end now, and what of it can't be reached.

        Raises:
            ReplayRefused: they can't be read there.
        """
        ...

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> EventRange:
        """A reading between these."""
        ...


@dataclass(frozen=True, slots=True)
class Targets:
    """Who is to get events: the targets that were named, and what the endpoints among them want. Pure."""

    names: Sequence[TargetName]
    endpoints: Mapping[TargetName, Endpoint]

    def of(self, event: Event) -> list[TargetName]:
        """Those that get this event. Of a handler only the workers know what it wants: its types were named."""
        return [name for name in self.names if name.kind == "handler" or self.endpoints[name].wants(event)]


class RangeSource:
    """One range's deliveries.

    Args:
        selection: which events, and to whom.
        ports: Postgres and Kafka.
    """

    def __init__(self, selection: RangeSelection, *, ports: RangePorts) -> None:
        self._selection = selection
        self._ports = ports
        self._replay_id = ""
        self._range: EventRange | None = None
        self._seen: OrderedDict[UUID, None] = OrderedDict()

    def plan(self) -> Start | NotYet:
        """From the first event that may be meant to the last that is there now."""
        self._ports.endpoints()
        if not self._ports.changes_are_known():
            return NotYet(
                "the workers have not heard of an endpoint's last change yet. Does Debezium's connector run?"
            )
        return self._ports.bounds()

    def open(self, replay: Replay) -> None:
        """Read from where its progress says to where it ends."""
        self._replay_id = replay.id
        self._range = self._ports.events(replay.next_offsets, replay.end_offsets or {})

    def read(self, most: int) -> Batch | None:
        """The next events that match, a delivery for each target that gets one.

        An event's deliveries are in one batch, though that may be more than `most` then.
        """
        assert self._range is not None  # noqa: S101 - it is open
        if self._range.done:
            return None
        targets = Targets(self._selection.targets, self._ports.endpoints())
        count = payload_bytes = 0
        made: list[Delivery] = []
        while count < _READ and not self._range.done:
            # No more than fit, whatever they are: what is given out is behind us.
            room = min((most - len(made)) // len(targets.names), surely_fitting(payload_bytes))
            if room <= 0 and made:
                break
            records = self._range.read(max(room, 1))
            count += len(records)
            for record in records:
                event = event_of(record)
                if event is not None and self._selection.matches(event) and self._first_time(event.id):
                    wanting = targets.of(event)
                    made += [self._delivery(event, record, target) for target in wanting]
                    payload_bytes += len(event.payload) if wanting else 0
        return Batch(
            read=count,
            deliveries=made,
            next_offsets=dict(self._range.next_offsets),
            candidates=count * len(targets.names),
        )

    def still_due(self, deliveries: Sequence[Sendable]) -> Sequence[Sendable]:
        """All: what was delivered before was asked for as well."""
        return deliveries

    def verdict(self, _replay: Replay) -> Verdict:
        """Done, however little there was."""
        return Verdict(status="done")

    def close(self) -> None:
        """Leave the broker."""
        if self._range is not None:
            self._range.close()

    def _first_time(self, event_id: UUID) -> bool:
        """Whether an event was not met yet. The replayer remembers deliveries: of many targets, those of few events."""
        if event_id in self._seen:
            return False
        self._seen[event_id] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return True

    def _delivery(self, event: Event, record: ReadRecord, target: TargetName) -> Delivery:
        return Delivery(
            event=event,
            target=target,
            origin=Origin(record.topic, record.partition, record.offset),
            replay_id=self._replay_id,
        )
