"""Dead letters that are redriven: a `Source` of the replayer.

Place in the data's way: from the records on `outbox.dead-letter` that a redrive was given
(`connectors.postgres.redrives`) to deliveries with fresh budgets. Invariants: a letter's record is read at its place
and checked against what was noted of it, for an offset of a topic that was made anew is another record; its origin is
kept; one that isn't sent, because it is gone or can't be read, is opened again. Progress counts places, so it means
the same when some are opened again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.redrives import GivenLetter, RedriveStore
from connectors.postgres.stored_replay import Offsets, Replay
from streams.errors import RecordMalformed
from streams.records.delivery import Unrouted
from streams.records.wire import decode_delivery, decode_event, header_map, read_origin
from streams.replay.outlet import SentKey
from streams.replay.pace import LARGEST_BATCH_BYTES
from streams.replay.source import Batch, Sendable, Start, Verdict

__all__ = ["LettersSource", "ReadsPlaces", "redriven"]

#: How many are looked at at once when those that were not sent are opened again.
_AT_ONCE: Final = 1_000


class ReadsPlaces(Protocol):
    """What this needs of Kafka."""

    def read(
        self, partition: int, wanted: Sequence[int], *, most_bytes: int
    ) -> tuple[Mapping[int, ReadRecord], int]:
        """The records of `outbox.dead-letter` at these offsets of a partition, but for those that are gone.

        No further than to so many bytes of values; and how many of `wanted` were looked for.
        """
        ...


def redriven(record: ReadRecord, *, replay_id: str) -> Sendable:
    """What is made of a dead letter: its delivery from the start, or its event for whoever wants it now. Pure.

    Raises:
        RecordMalformed: it can't be read, and so no worker of this version could deliver it.
    """
    headers = header_map(record.headers)
    if "outbox-target" in headers:
        delivery = decode_delivery(headers, key=record.key, value=record.value)
        return delivery.anew(replay_id)
    return Unrouted(
        event=decode_event(headers, key=record.key, value=record.value),
        origin=read_origin(headers),
        replay_id=replay_id,
    )


class LettersSource:
    """The letters that a redrive was given, partition by partition in the order of their offsets.

    Args:
        replay_id: the redrive.
        store: says which letters, over the session that holds the redrive's claim.
        reader: reads their records.
    """

    def __init__(self, replay_id: str, *, store: RedriveStore, reader: ReadsPlaces) -> None:
        self._replay_id = replay_id
        self._store = store
        self._reader = reader
        self._next: dict[int, int] = {}
        self._ends: Offsets = {}

    def plan(self) -> Start:
        """It may always begin."""
        ranges = self._store.ranges(self._replay_id)
        return Start(
            begins={number: first for number, (first, _, _) in ranges.items()},
            ends={number: end for number, (_, end, _) in ranges.items()},
            to_read=sum(count for _, _, count in ranges.values()),
        )

    def open(self, replay: Replay) -> None:
        """Go on behind the last letter that was sent."""
        self._next = dict(replay.next_offsets)
        self._ends = replay.end_offsets or {}

    def read(self, most: int) -> Batch | None:
        """The next letters. What is gone, or can't be read, is read and not sent, and opened again."""
        for partition in sorted(self._ends):
            end = self._ends[partition]
            least = self._next.get(partition, 0)
            if least >= end:
                continue
            letters = self._store.given(self._replay_id, partition=partition, least=least, end=end, most=most)
            if not letters:
                self._next[partition] = end
                continue
            records, looked = self._reader.read(
                partition, [letter.offset for letter in letters], most_bytes=LARGEST_BATCH_BYTES
            )
            read = letters[:looked]
            # Fewer than could be: those were all of this partition.
            is_last = looked == len(letters) < most
            self._next[partition] = end if is_last else read[-1].offset + 1
            return Batch(read=looked, deliveries=self._sendable(read, records), next_offsets=dict(self._next))
        return None

    def still_due(self, deliveries: Sequence[Sendable]) -> Sequence[Sendable]:
        """All: each was chosen by somebody, and given to nobody else."""
        return deliveries

    def verdict(self, replay: Replay) -> Verdict:
        """Whether any was left."""
        given = sum(count for _, _, count in self._store.ranges(replay.id).values())
        left = (replay.events_to_read or 0) - given
        if not left:
            return Verdict(status="done")
        said = (
            f"{left} of {replay.events_to_read} are no longer on Kafka, or can't be read, and are open again. Discard "
            "them, or append their events again, under their ids, from wherever you have them."
        )
        return Verdict(status="done", warning=said) if replay.sent else Verdict(status="failed", error=said)

    def release(self, replay: Replay, *, sent: frozenset[SentKey]) -> int:
        """Open those again that a redrive which has ended early did not send; return how many.

        Args:
            replay: as it ended.
            sent: what of it stands on `outbox.redelivery` since its last batch began.
        """
        released = 0
        there = {(event_id, None if target is None else str(target)) for event_id, target in sent}
        for partition, (first, end, _) in self._store.ranges(replay.id).items():
            least = replay.next_offsets.get(partition, first)
            while letters := self._store.given(
                replay.id, partition=partition, least=least, end=end, most=_AT_ONCE
            ):
                unsent = [letter.id for letter in letters if (letter.event_id, letter.target) not in there]
                self._store.reopen(replay.id, unsent)
                released += len(unsent)
                least = letters[-1].offset + 1
        return released

    def close(self) -> None:
        """Nothing of it is open between two batches."""

    def _sendable(self, letters: Sequence[GivenLetter], records: Mapping[int, ReadRecord]) -> list[Sendable]:
        deliveries: list[Sendable] = []
        left: list[UUID] = []
        for letter in letters:
            sendable = self._made_of(letter, records.get(letter.offset))
            if sendable is None:
                left.append(letter.id)
            else:
                deliveries.append(sendable)
        self._store.reopen(self._replay_id, left)
        return deliveries

    def _made_of(self, letter: GivenLetter, record: ReadRecord | None) -> Sendable | None:
        try:
            sendable = None if record is None else redriven(record, replay_id=self._replay_id)
        except RecordMalformed:
            return None
        return sendable if sendable is not None and sendable.event.id == letter.event_id else None
