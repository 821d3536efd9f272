"""Postgres: can rows leave it, and will its disk bear it when they can't? Pure.

Place in the data's way: after the facts. The finding's names begin with `postgres`, `publication` and `slot`.
"""

from collections.abc import Iterator

from connectors.counted import counted
from connectors.kafka_connect.connector import PUBLICATION_NAME, SLOT_NAME
from connectors.postgres.replication import Replication, Slot
from streams.doctor.facts import DatabaseFacts, Facts, Unreachable
from streams.doctor.finding import Finding, error, ok, warning

__all__ = ["check"]

_SETUP = "Run outbox setup."
_TABLE = "outbox.outbox"
_GIB = 1024**3
_WARN_RETAINED_BYTES = 1 * _GIB
_ERROR_RETAINED_BYTES = 10 * _GIB


def check(facts: Facts) -> Iterator[Finding]:
    """Check schema, settings, publication and slot."""
    if isinstance(facts.database, Unreachable):
        yield error(
            "postgres",
            facts.database.reason,
            why="Nothing else of the database could be checked. Workers go on without it; new events don't reach them.",
            do="Check that Postgres runs, and OUTBOX_DATABASE_URL.",
        )
        return
    replication = facts.database.replication
    yield _migrations(facts.database)
    yield _wal_level(replication)
    yield from _publication(replication)
    yield from _slot(replication)


def _migrations(database: DatabaseFacts) -> Finding:
    if not database.pending:
        return ok("migrations", "the schema is up to date")
    return error(
        "migrations",
        f"{counted(len(database.pending), 'migration')} pending: {', '.join(database.pending)}",
        why="This version expects tables and functions that are not there.",
        do=_SETUP,
    )


def _wal_level(replication: Replication) -> Finding:
    if replication.wal_level == "logical":
        return ok("wal-level", "wal_level = logical")
    return error(
        "wal-level",
        f"wal_level = {replication.wal_level}",
        why="Debezium can't read the outbox's rows from it.",
        do="ALTER SYSTEM SET wal_level = 'logical', and restart Postgres.",
    )


def _publication(replication: Replication) -> Iterator[Finding]:
    publication = replication.publication
    if publication is None:
        yield error(
            "publication",
            f"there is no publication {PUBLICATION_NAME}",
            why="Postgres passes no row on.",
            do=_SETUP,
        )
        return
    if _TABLE not in publication.tables:
        yield error(
            "publication",
            f"the publication {PUBLICATION_NAME} leaves out {_TABLE}",
            why="Postgres passes no row of it on, and committed events are never delivered.",
            do=f"{_SETUP} Then append again what was committed meanwhile (docs/howto/recover-a-lost-slot.md).",
        )
    if not publication.inserts:
        yield error(
            "publication",
            f"the publication {PUBLICATION_NAME} leaves out inserts",
            why="Every event is an insert.",
            do=f"{_SETUP} Then append again what was committed meanwhile (docs/howto/recover-a-lost-slot.md).",
        )
    if not publication.via_partition_root:
        yield warning(
            "publication",
            f"the publication {PUBLICATION_NAME} has publish_via_partition_root off",
            why="When the outbox is partitioned, its rows come under their partitions' names, and Debezium drops them.",
            do=_SETUP,
        )
    if _TABLE in publication.tables and publication.inserts and publication.via_partition_root:
        yield ok("publication", f"the publication {PUBLICATION_NAME} passes on {_TABLE}'s inserts")


def _slot(replication: Replication) -> Iterator[Finding]:
    slot = replication.slot
    if slot is None:
        yield error(
            "slot",
            f"there is no replication slot {SLOT_NAME}",
            why="Rows that are committed now will never be sent.",
            do=f"{_SETUP} Then append again what was committed meanwhile (docs/howto/recover-a-lost-slot.md).",
        )
    elif slot.wal_status == "lost":
        yield error(
            "slot",
            f"the replication slot {SLOT_NAME} is lost: its WAL is gone",
            why="Debezium can't go on, and the rows in that WAL will never be sent.",
            do=(
                f"SELECT pg_drop_replication_slot('{SLOT_NAME}'), run outbox setup, and append again what was"
                " committed meanwhile (docs/howto/recover-a-lost-slot.md)."
            ),
        )
    elif slot.plugin != "pgoutput" or slot.database != replication.database:
        yield error(
            "slot",
            f"the replication slot {SLOT_NAME} is another's: plugin {slot.plugin}, database {slot.database}",
            why=f"Debezium needs one with pgoutput in {replication.database}.",
            do="Find out who made it; drop it if nobody needs it, and run outbox setup.",
        )
    else:
        yield _slot_activity(slot)
        yield _retained(replication, slot)


def _slot_activity(slot: Slot) -> Finding:
    if slot.active:
        return ok("slot", f"Debezium reads from the replication slot {SLOT_NAME}")
    return error(
        "slot",
        f"nobody reads from the replication slot {SLOT_NAME}",
        why="Committed events stay in Postgres, and its WAL grows until the disk is full.",
        do="See the connector's findings below; restart it, or run outbox setup.",
    )


def _retained(replication: Replication, slot: Slot) -> Finding:
    """Judge the WAL kept for the slot against what Postgres allows, or against a disk that is not endless."""
    retained_bytes, allowed_bytes = slot.retained_bytes or 0, replication.max_slot_wal_keep_bytes
    most_bytes = _ERROR_RETAINED_BYTES if allowed_bytes is None else allowed_bytes
    what = f"Postgres keeps {_size(retained_bytes)} of WAL for the slot"
    if allowed_bytes is not None:
        what += f" and allows {_size(allowed_bytes)}"
    why = (
        "When the disk is full, Postgres stops."
        if allowed_bytes is None
        else "Beyond that, Postgres removes WAL that was not read, and its events are lost."
    )
    do = "Find out why Debezium is behind: the connector's findings, its log, Kafka, a long transaction."
    if slot.wal_status == "unreserved" or retained_bytes >= most_bytes:
        return error("slot-wal", what, why=why, do=do)
    if retained_bytes >= min(_WARN_RETAINED_BYTES, most_bytes // 2):
        return warning("slot-wal", what, why=why, do=do)
    return ok("slot-wal", what)


def _size(size_bytes: int) -> str:
    """Write a size for people.

    >>> _size(5 * 1024**2)
    '5.0 MiB'
    """
    return f"{size_bytes / _GIB:.1f} GiB" if size_bytes >= _GIB else f"{size_bytes / 1024**2:.1f} MiB"
