"""A batch: bounded in number and bytes, and it knows what to commit."""

from __future__ import annotations

from streams.recorder.batch import BATCH_BYTES, BATCH_RECORDS, Batch, Place
from streams.recorder.entry import Entry
from tests.support.attempt_records import an_entry

ENTRY = an_entry()


def test_a_batch_is_full_by_number_or_by_bytes() -> None:
    """What is held in memory is bounded, whatever the records are like: unreadable ones count too."""
    many: Batch[Entry] = Batch()
    large: Batch[Entry] = Batch()
    for offset in range(BATCH_RECORDS):
        assert not many.is_full
        many.add(Place(0, offset), None if offset % 2 else ENTRY, size_bytes=400)
    assert many.is_full
    large.add(Place(0, 0), ENTRY, size_bytes=BATCH_BYTES)
    assert large.is_full


def test_the_offsets_to_commit_cover_what_was_passed_over() -> None:
    """By partition the one after the last that was read, whether that could be read or not."""
    batch: Batch[Entry] = Batch()
    assert not batch
    batch.add(Place(1, 7), ENTRY, size_bytes=1)
    batch.add(Place(4, 3), None, size_bytes=1)
    batch.add(Place(1, 9), None, size_bytes=1)
    assert batch
    assert batch.next_offsets == {1: 10, 4: 4}
    assert [read.place for read in batch.reads] == [Place(1, 7)]
