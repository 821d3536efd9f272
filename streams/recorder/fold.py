"""Folding a batch of entries into the deliveries that they speak of. Pure.

A delivery's row is one entry's: the one of the greatest rank (docs/adr/0012). Rank is a total order that depends on
nothing but the record: the later replay, then how final its end is (succeeded, ended otherwise, waiting), then
attempt and deferrals, then time and attempt id, which part what two workers have made of the same attempt after a
crash. So the row is the same whatever the order, the batches, and the repetitions in which the records are read; the
writer compares by the same columns what it finds in Postgres.
"""

from __future__ import annotations

from collections.abc import Iterable

from connectors.postgres.log_rows import DeliveryRow
from streams.recorder.entry import Entry

__all__ = ["fold"]


def fold(entries: Iterable[Entry]) -> list[DeliveryRow]:
    """The row of each delivery of a batch, each once, in no order."""
    rows: dict[str, DeliveryRow] = {}
    for entry in entries:
        row = entry.delivery
        known = rows.get(row.id)
        if known is None or row.rank > known.rank:
            rows[row.id] = row
    return list(rows.values())
