"""When nothing may be deleted from the outbox, because the table may be the only place that has an event. Pure."""

from connectors.postgres.publication import ROOT_FAULT, publication_faults
from connectors.postgres.replication import Publication, Slot

__all__ = ["refusal", "unpublished", "wrong_position"]

_HOWTO = "docs/howto/recover-a-lost-slot.md"
_NOTHING = "Nothing was deleted"


def refusal(slot: Slot | None, *, name: str, database: str) -> str | None:
    """Why nothing may be deleted, and what to do; None if the slot can be asked what it has confirmed.

    >>> refusal(None, name="outbox", database="shop").split(": ")[0]
    'Nothing was deleted'
    """
    if slot is None:
        return (
            f"{_NOTHING}: there is no replication slot {name}, so rows that are committed now are sent by nobody, and "
            f"the table is the only copy of them. Run `outbox setup`, then see {_HOWTO}."
        )
    if slot.plugin != "pgoutput" or slot.database != database:
        return (
            f"{_NOTHING}: the replication slot {name} is another's (plugin {slot.plugin}, database {slot.database}), "
            "and says nothing of this outbox. Check OUTBOX_DATABASE_URL; `outbox doctor` says more."
        )
    if slot.wal_status == "lost":
        return (
            f"{_NOTHING}: the replication slot {name} is lost. Rows that Debezium had not read are in the table only. "
            f"See {_HOWTO} for how to send them."
        )
    return None


def unpublished(publication: Publication | None, *, name: str) -> str | None:
    """Why nothing may be deleted, when the publication leaves rows out: the slot confirms them, and nobody gets them.

    >>> right = Publication(tables=frozenset({"outbox.outbox"}), inserts=True, via_partition_root=False)
    >>> unpublished(right, name="outbox"), unpublished(None, name="outbox").split(": ")[0]
    (None, 'Nothing was deleted')
    """
    faults = [fault for fault in publication_faults(publication) if fault != ROOT_FAULT]
    if not faults:
        return None
    return (
        f"{_NOTHING}: the publication {name} leaves the outbox's rows out ({', '.join(faults)}), so the slot confirms"
        f" rows that are sent by nobody, and the table is the only copy of them. Run `outbox setup`, then see {_HOWTO}."
    )


def wrong_position(slot: Slot, *, end_lsn: int, name: str) -> str | None:
    """Why nothing may be deleted, when the slot has confirmed what is not written yet.

    `end_lsn` is the end of the WAL, read after the slot.
    """
    if slot.confirmed_flush_lsn <= end_lsn:
        return None
    return (
        f"{_NOTHING}: the replication slot {name} has confirmed a position beyond the end of the WAL, so it is that of"
        f" another history: the database was restored, and Debezium passes over what is committed now. Drop the slot"
        f" (SELECT pg_drop_replication_slot('{name}')), run `outbox setup`, then see {_HOWTO}."
    )
