"""When nothing may be deleted from the outbox, because the table may be the only place that has an event. Pure."""

from connectors.postgres.replication import Slot

__all__ = ["refusal"]

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
