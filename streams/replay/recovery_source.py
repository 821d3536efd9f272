"""What an endpoint should have got and has not: a recovery.

Place in the data's way: a `Source` of the replayer. It reads `outbox.events` from a time on, keeps the events that the
endpoint as it is now wants, and leaves out those whose delivery has succeeded or is under way, by the delivery log.
It begins when the log is complete for what it will read (`Completeness`), and after the endpoint's last change has
reached Kafka: of events that come later, the workers know it as it is. Test events are not recovered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from connectors.epoch import epoch_ms, from_epoch_ms
from connectors.kafka.read_record import ReadRecord
from connectors.postgres.delivery_id import delivery_id
from connectors.postgres.log_rows import DeliveryStatus
from connectors.postgres.stored_replay import Replay
from connectors.webhook.endpoint import Endpoint
from outbox.event import Event
from streams.records.delivery import Delivery, Origin
from streams.records.target import TEST_EVENT_TYPE, TargetName
from streams.replay.completeness import Completeness
from streams.replay.event_range import EventRange, event_of, is_cut, surely_before
from streams.replay.pace import surely_fitting
from streams.replay.selection import RecoverySelection
from streams.replay.source import Batch, NotYet, Sendable, Start, Verdict
from streams.topics import EVENTS

__all__ = ["RecoveryPorts", "RecoverySource"]

_READ: Final = 2_000
#: What has got this far is not sent again.
_LEFT_OUT: Final[frozenset[DeliveryStatus]] = frozenset({"succeeded", "pending", "retrying"})


class RecoveryPorts(Protocol):
    """What a recovery asks of Postgres and Kafka. All may raise `PostgresError` and `KafkaEdgeError`."""

    def endpoint(self) -> Endpoint:
        """The endpoint as it is now.

        Raises:
            ReplayRefused: it is disabled, or was removed.
        """
        ...

    def change_is_known(self) -> bool:
        """Whether the endpoint's last change has reached the workers, as far as one can tell."""
        ...

    def log_begins(self) -> datetime:
        """From when on the delivery log has what was delivered."""
        ...

    def now(self) -> datetime:
        """The time by Postgres' clock."""
        ...

    def offsets_since(self, moment: datetime) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Where `outbox.events` has records of that time or later, and where it begins."""
        ...

    def events(self, begins: Mapping[int, int], ends: Mapping[int, int]) -> EventRange:
        """A reading of that range."""
        ...

    def statuses(self, deliveries: Sequence[tuple[datetime, UUID]]) -> Mapping[UUID, DeliveryStatus]:
        """How these deliveries stand in the log."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The events of [since, until)."""

    since: datetime
    until: datetime

    def has(self, event: Event) -> bool:
        return self.since <= event.created_at < self.until


class RecoverySource:
    """One recovery's deliveries.

    Args:
        selection: since when, and until when.
        target: the endpoint's name.
        ports: Postgres and Kafka.
        completeness: says when the log is complete.
    """

    def __init__(
        self,
        selection: RecoverySelection,
        *,
        target: TargetName,
        ports: RecoveryPorts,
        completeness: Completeness,
    ) -> None:
        self._selection = selection
        self._target = target
        self._ports = ports
        self._completeness = completeness
        self._replay_id = ""
        self._range: EventRange | None = None
        self._window: _Window | None = None
        self._log_begins: datetime | None = None

    def plan(self) -> Start | NotYet:
        """From the first event that may be meant to the last that is there, once the log is complete for these."""
        self._ports.endpoint()
        if not self._ports.change_is_known():
            return NotYet(
                "the workers have not heard of the endpoint's last change yet. Does Debezium's connector run?"
            )
        ends = self._completeness.events_end()
        if isinstance(ends, NotYet):
            return ends
        since = self._since()
        found, first_kept = self._ports.offsets_since(surely_before(since))
        begins = {number: min(found.get(number, end), end) for number, end in ends.items()}
        return Start(
            begins=begins,
            ends=ends,
            to_read=sum(end - begins[number] for number, end in ends.items()),
            warning=self._warning(since, cut=is_cut(begins, first_kept)),
        )

    def open(self, replay: Replay) -> None:
        """Read from where its progress says to where it ends."""
        self._replay_id = replay.id
        # Of an event from beyond that the log has nothing, so nobody could say whether it was delivered.
        until = self._selection.until or datetime.max.replace(tzinfo=UTC)
        until = min(until, self._ports.now() + timedelta(days=1))
        self._window = _Window(since=self._since(), until=until)
        self._range = self._ports.events(replay.next_offsets, replay.end_offsets or {})

    def read(self, most: int) -> Batch | None:
        """The next events that the endpoint wants, as it is now."""
        assert self._range is not None  # noqa: S101 - it is open
        assert self._window is not None  # noqa: S101 - as above
        if self._range.done:
            return None
        endpoint = self._ports.endpoint()
        count = payload_bytes = 0
        wanted: list[Delivery] = []
        while count < _READ and not self._range.done:
            # No more than fit, whatever they are: what is given out is behind us.
            room = min(most - len(wanted), surely_fitting(payload_bytes))
            if not room:
                break
            records = self._range.read(room)
            count += len(records)
            for record in records:
                event = event_of(record)
                if event is not None and self._window.has(event) and _is_wanted(endpoint, event):
                    wanted.append(self._delivery(event, record))
                    payload_bytes += len(event.payload)
        return Batch(read=count, deliveries=wanted, next_offsets=dict(self._range.next_offsets))

    def still_due(self, deliveries: Sequence[Sendable]) -> Sequence[Sendable]:
        """Those that the log has not as succeeded or under way."""
        made = [one for one in deliveries if isinstance(one, Delivery)]  # it makes nothing else
        keys = [_log_key(delivery) for delivery in made]
        known = self._ports.statuses(keys)
        return [
            delivery
            for delivery, (_, identifier) in zip(made, keys, strict=True)
            if known.get(identifier) not in _LEFT_OUT
        ]

    def verdict(self, _replay: Replay) -> Verdict:
        """Done, however little there was."""
        return Verdict(status="done")

    def close(self) -> None:
        """Leave the broker."""
        if self._range is not None:
            self._range.close()

    def _delivery(self, event: Event, record: ReadRecord) -> Delivery:
        return Delivery(
            event=event,
            target=self._target,
            origin=Origin(record.topic, record.partition, record.offset),
            replay_id=self._replay_id,
        )

    def _since(self) -> datetime:
        if self._log_begins is None:
            self._log_begins = self._ports.log_begins()
        return max(self._selection.since, self._log_begins)

    def _warning(self, since: datetime, *, cut: bool) -> str | None:
        parts = []
        if since > self._selection.since:
            parts.append(
                f"the delivery log begins on {since:%Y-%m-%d} (OUTBOX_LOG_RETENTION_DAYS), so nobody could say what of "
                "the days before was delivered: those were left out"
            )
        if cut:
            parts.append(
                f"Kafka has deleted events of {EVENTS} that may be from after {since:%Y-%m-%dT%H:%M:%SZ} "
                "(OUTBOX_RETENTION_HOURS): those can't be sent"
            )
        return "; ".join(parts) or None


def _is_wanted(endpoint: Endpoint, event: Event) -> bool:
    return event.type != TEST_EVENT_TYPE and endpoint.wants(event)


def _log_key(delivery: Delivery) -> tuple[datetime, UUID]:
    """Where the log has a delivery: its event's time to the millisecond, and its id."""
    event = delivery.event
    created_at_ms = epoch_ms(event.created_at)
    identifier = delivery_id(event_id=event.id, target=str(delivery.target), created_at_ms=created_at_ms)
    return from_epoch_ms(created_at_ms), identifier
