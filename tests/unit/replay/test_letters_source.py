"""Batches of a redrive: bounded in bytes, too, and no letter is left out or taken for gone because of that."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from connectors.kafka.read_record import ReadRecord
from connectors.postgres.redrives import GivenLetter
from outbox.payload import MAX_PAYLOAD_BYTES
from streams.replay.letters_source import LettersSource
from streams.replay.source import Start
from tests.support.dead_letters import letter_record
from tests.support.deliveries import a_delivery, an_event
from tests.unit.replay.replayed import a_replay
from tests.unit.replay.test_redriven import as_read

NUMBER = 20
GONE = 5


class World:
    """Letters with the largest payload, one of them gone from Kafka; what is read ends at a number of bytes."""

    def __init__(self) -> None:
        self.reopened: list[UUID] = []

    def given(self, _replay_id: str, *, least: int, most: int, **_where: Any) -> Sequence[GivenLetter]:
        return [
            GivenLetter(id=UUID(int=n + 100), partition=0, offset=n, event_id=UUID(int=n + 1), target=None)
            for n in range(least, min(NUMBER, least + most))
        ]

    def reopen(self, _replay_id: str, letters: Sequence[UUID]) -> None:
        self.reopened += letters

    def read(
        self, _partition: int, wanted: Sequence[int], *, most_bytes: int
    ) -> tuple[Mapping[int, ReadRecord], int]:
        found: dict[int, ReadRecord] = {}
        for offset in wanted:
            if offset == GONE:
                continue
            event = an_event(id=UUID(int=offset + 1), payload=bytes(MAX_PAYLOAD_BYTES))
            found[offset] = as_read(letter_record(a_delivery(event=event, attempt=3, first_failed_at_ms=1)))
            if len(found) * MAX_PAYLOAD_BYTES >= most_bytes:
                return found, bisect_right(wanted, offset)
        return found, len(wanted)


def test_a_batch_of_large_letters_ends_at_8_mib() -> None:
    """The rest are the next batches'; only what is gone is opened again."""
    world = World()
    source = LettersSource("r", store=world, reader=world)  # type: ignore[arg-type]
    source.open(a_replay(Start(begins={0: 0}, ends={0: NUMBER}, to_read=NUMBER)))
    read, sent = 0, list[int]()
    while (batch := source.read(500)) is not None:
        assert len(batch.deliveries) <= 9
        read += batch.read
        sent += [one.event.id.int - 1 for one in batch.deliveries]
    assert read == NUMBER
    assert sent == [n for n in range(NUMBER) if n != GONE]
    assert world.reopened == [UUID(int=GONE + 100)]
