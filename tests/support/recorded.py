"""What the delivery log has of one target: its rows as they are stored, and what they should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg

from connectors.kafka.record import OutgoingRecord
from connectors.postgres.log_rows import DeliveryRow
from streams.recorder.entry import read_entry
from streams.recorder.fold import fold
from tests.support.eventually import eventually

__all__ = ["Recorded", "recorded", "should_be", "wait_until_recorded"]

Recorded = tuple[set[tuple[Any, ...]], list[str]]
"""The deliveries, every column of them, and the ids of the attempts in order."""

_IDS = frozenset({"id", "event_id", "last_attempt_id"})
_COLUMNS = ", ".join(f"{name}::text" if name in _IDS else name for name in DeliveryRow._fields)


def recorded(url: str, target: str) -> Recorded:
    with psycopg.connect(url) as connection:
        connection.execute("set timezone to 'UTC'")
        deliveries = connection.execute(
            f"select {_COLUMNS} from outbox.deliveries where target = %s",  # noqa: S608 - columns of ours
            (target,),
        ).fetchall()
        attempts = connection.execute(
            "select a.id::text from outbox.attempts a join outbox.deliveries d"
            " on a.created_at = d.created_at and a.delivery_id = d.id where d.target = %s order by 1",
            (target,),
        ).fetchall()
    return set(deliveries), [text for (text,) in attempts]


def should_be(records: Iterable[OutgoingRecord]) -> Recorded:
    """One reading of all of them, in order."""
    entries = [read_entry(record.value) for record in records]
    return set(map(tuple, fold(entries))), sorted({entry.attempt.id for entry in entries})


def wait_until_recorded(
    url: str, target: str, records: Iterable[OutgoingRecord], *, timeout_s: float = 60
) -> None:
    """Return when the log has all of these, and nothing else of the target."""
    wanted = should_be(records)
    eventually(lambda: recorded(url, target) == wanted, what=f"the log of {target}", timeout_s=timeout_s)
