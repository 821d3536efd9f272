"""When nothing may be deleted from the outbox: what the slot says is not to be believed."""

from __future__ import annotations

import pytest

from connectors.postgres.replication import Publication, Slot
from streams.prune.refusal import unpublished, wrong_position

SLOT = Slot(
    plugin="pgoutput",
    database="shop",
    active=True,
    wal_status="reserved",
    confirmed_flush_lsn=1_000,
    retained_bytes=0,
    unconfirmed_bytes=0,
)
RIGHT = frozenset({"outbox.outbox"})


def test_a_slot_of_another_history_has_confirmed_nothing() -> None:
    """A restored database: Debezium confirms the position it knew, and passes over what is committed until then."""
    assert wrong_position(SLOT, end_lsn=1_000, name="outbox") is None
    why = wrong_position(SLOT, end_lsn=999, name="outbox")
    assert why is not None
    assert "beyond the end of the WAL" in why


@pytest.mark.parametrize(
    ("publication", "why"),
    [
        (None, "create it"),
        (Publication(tables=frozenset(), inserts=True, via_partition_root=True), "add table"),
        (Publication(tables=RIGHT, inserts=False, via_partition_root=True), "publish inserts"),
    ],
)
def test_a_publication_that_leaves_rows_out(publication: Publication | None, why: str) -> None:
    assert why in (unpublished(publication, name="outbox") or "")


def test_a_whole_publication_is_no_reason() -> None:
    """Under which name a table without partitions is published is all one."""
    whole = Publication(tables=RIGHT, inserts=True, via_partition_root=False)
    assert unpublished(whole, name="outbox") is None
