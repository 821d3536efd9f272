"""Records by their places: a delivery that is resent, dead letters that are redriven.

Place in the data's way: a `Source` of the replayer. What a place holds is read when its turn comes, and checked against
the event's id that was noted for it: an offset of a topic that was made anew is another record.
"""

from __future__ import annotations

from collections.abc import Sequence

from connectors.kafka.read_record import ReadRecord, RecordReader
from connectors.postgres.stored_replay import Replay
from streams.errors import EventGone, RecordMalformed
from streams.records.delivery import Delivery, Origin
from streams.records.wire import decode_delivery, decode_event, header_map
from streams.replay.row_range import TABLE
from streams.replay.selection import Place, PlacesSelection
from streams.replay.source import Batch, Sendable, Start, Verdict

__all__ = ["PlacesSource", "delivery_at", "event_gone"]

#: The places of a selection are counted as one partition's offsets.
_ONLY = 0


def event_gone(place: Place) -> EventGone:
    """What is said of an event that Kafka doesn't have any more."""
    return EventGone(
        f"Event {place.event_id} is no longer on Kafka at {place.at}: it was deleted after OUTBOX_RETENTION_HOURS "
        "(or OUTBOX_DEAD_LETTER_RETENTION_HOURS). Where its row is kept, `outbox replay run --source postgres` with "
        "its id sends it; else append it again, under its id, from wherever you have it."
    )


def delivery_at(reader: RecordReader, place: Place, *, replay_id: str) -> Delivery:
    """The delivery to make of the record at a place: its first attempt of this replay, with fresh budgets.

    Raises:
        EventGone: the record is not there, or another one.
        RecordMalformed: it can't be read.
        ClusterUnreachable: no broker answered.
    """
    if place.at.topic == TABLE:
        raise event_gone(place)  # a range read it from the table: it has no place on Kafka
    record = reader.read(place.at.topic, place.at.partition, place.at.offset)
    if record is None:
        raise event_gone(place)
    delivery = _delivery(record, place)
    if delivery.event.id != place.event_id:
        raise event_gone(place)
    return delivery.anew(replay_id)


def _delivery(record: ReadRecord, place: Place) -> Delivery:
    headers = header_map(record.headers)
    if place.target is None:
        return decode_delivery(headers, key=record.key, value=record.value)
    event = decode_event(headers, key=record.key, value=record.value)
    return Delivery(
        event=event, target=place.target, origin=Origin(record.topic, record.partition, record.offset)
    )


class PlacesSource:
    """The places of one selection, in its order.

    Args:
        selection: the places.
        reader: reads them.
    """

    def __init__(self, selection: PlacesSelection, *, reader: RecordReader) -> None:
        self._places = selection.places
        self._reader = reader
        self._next = 0
        self._replay_id = ""

    def plan(self) -> Start:
        """It may always begin."""
        count = len(self._places)
        return Start(begins={_ONLY: 0}, ends={_ONLY: count}, to_read=count)

    def open(self, replay: Replay) -> None:
        """Go on at the place that is next."""
        self._next = replay.next_offsets.get(_ONLY, 0)
        self._replay_id = replay.id

    def read(self, most: int) -> Batch | None:
        """The next places. What is gone, or can't be read, is read and not sent."""
        places = self._places[self._next : self._next + most]
        if not places:
            return None
        deliveries = []
        for place in places:
            try:
                deliveries.append(delivery_at(self._reader, place, replay_id=self._replay_id))
            except (EventGone, RecordMalformed):
                continue
        self._next += len(places)
        return Batch(read=len(places), deliveries=deliveries, next_offsets={_ONLY: self._next})

    def still_due(self, deliveries: Sequence[Sendable]) -> Sequence[Sendable]:
        """All: each was named by somebody."""
        return deliveries

    def verdict(self, replay: Replay) -> Verdict:
        """Whether anything was left of them."""
        if not replay.skipped:
            return Verdict(status="done")
        gone = f"{replay.skipped} of {len(self._places)} are no longer on Kafka, or can't be read"
        return Verdict(status="done", warning=gone) if replay.sent else Verdict(status="failed", error=gone)

    def close(self) -> None:
        """Leave the broker."""
        self._reader.close()
