"""`prune`: a mark in the WAL, a wait until the slot has confirmed it, and then the old rows, page by page.

Place in the data's way: behind it; run by hand or by a CronJob. Invariants: no row goes whose insert the slot has not
confirmed, and none while setup has closed a gap in the capture more recently than the retention is long. It may be
broken off anywhere, and any number may run at once. Must not: move a slot, or delete anything on Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from connectors.postgres.capture_gaps import gap_ended_at
from connectors.postgres.outbox_rows import Mark, OutboxRows, Pages, Passed
from connectors.postgres.replication import Slot, read_publication, read_slot
from streams.errors import PruneRefused
from streams.prune.pruned import Pruned
from streams.prune.refusal import refusal, unpublished, wrong_position

__all__ = ["Clock", "prune"]

_LOOK_AGAIN_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """How time passes for who waits."""

    monotonic_s: Callable[[], float]
    sleep: Callable[[float], None]


def prune(
    connection: psycopg.Connection[Any],
    *,
    slot: str,
    publication: str,
    older_than: timedelta,
    wait: timedelta,
    dry_run: bool,
    clock: Clock,
) -> Pruned:
    """Delete the rows that are older than this, as far as the slot has confirmed them; or count them.

    Args:
        connection: to the outbox's database, in autocommit mode.
        slot: the replication slot that Debezium reads from.
        publication: what Postgres passes on to it.
        older_than: the retention, counted from `created_at`.
        wait: how long the slot may take to confirm all that was committed when this began.
        dry_run: only count.
        clock: for the wait.

    Raises:
        PruneRefused: there is no slot, it is lost or another history's, or the publication leaves rows out: they may
            be the only copy of their events.
        PostgresError: this is a standby, or Postgres refused, or is gone; what was deleted until then stays deleted.
    """
    rows = OutboxRows(connection)
    rows.check_primary()
    found = _slot(connection, slot, publication)
    mark = rows.mark(older_than=older_than)
    _refuse(wrong_position(found, end_lsn=mark.lsn, name=slot))
    deadline_s = clock.monotonic_s() + wait.total_seconds()
    while found.confirmed_flush_lsn < mark.lsn and clock.monotonic_s() < deadline_s:
        clock.sleep(_LOOK_AGAIN_S)
        found = _slot(connection, slot, publication)
    confirmed = found.confirmed_flush_lsn >= mark.lsn
    # After the wait: whoever makes a new slot notes the gap first, so a slot that was swapped meanwhile is found out.
    gap = gap_ended_at(connection, slot=slot)
    after_gap = gap is not None and gap >= mark.before
    pass_by = rows.delete if confirmed and not after_gap and not dry_run else rows.count
    passed = _all_pages(rows, mark, pass_by)
    goes = passed.due if dry_run else passed.deleted
    if after_gap or not confirmed:
        goes = 0
    return Pruned(
        dry_run=dry_run,
        before=mark.before,
        confirmed=confirmed,
        deleted=goes,
        kept_unconfirmed=passed.late if confirmed or after_gap else passed.late + passed.due,
        kept_held=0 if dry_run or after_gap or not confirmed else passed.held,
        kept_after_gap=passed.due if after_gap else 0,
        gap_ended_at=gap if after_gap else None,
        slot_active=found.active,
        unconfirmed_bytes=found.unconfirmed_bytes or 0,
    )


def _all_pages(rows: OutboxRows, mark: Mark, pass_by: Callable[[Pages, Mark], Passed]) -> Passed:
    total = Passed()
    for pages in rows.pages():
        total += pass_by(pages, mark)
    return total


def _slot(connection: psycopg.Connection[Any], name: str, publication: str) -> Slot:
    """Look at the slot and the publication, each time anew: either may be lost while somebody waits."""
    slot = read_slot(connection, slot=name)
    why_not = refusal(slot, name=name, database=connection.info.dbname)
    if slot is None or why_not is not None:
        raise PruneRefused(why_not)
    _refuse(unpublished(read_publication(connection, publication=publication), name=publication))
    return slot


def _refuse(why: str | None) -> None:
    if why is not None:
        raise PruneRefused(why)
