"""Writing the delivery log: rows by COPY, each attempt once, and of what is said of a delivery the greatest rank.

Place in the data's way: after the recorder's fold, before the tables that `DeliveryLog` reads. Invariants: a batch is
one transaction, and writing one again, in any order and beside another writer, changes nothing: attempts are unique
by their id, a delivery's row only gives way to a greater rank. Rows are written in one order by everybody, so two
writers never wait for each other in a circle. Must not: decide what is kept, or how a delivery stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connectors.postgres.day_writer import DayWriter, copy_rows
from connectors.postgres.log_partitions import TABLES
from connectors.postgres.log_rows import RANK, AttemptRow, DeliveryRow

__all__ = ["DeliveryLogWriter"]

_SESSION: Final = (
    # The stage keeps nothing between batches, and no WAL is written of it.
    "create temporary table stage_attempts (like outbox.attempts) on commit delete rows",
    "create temporary table stage_deliveries (like outbox.deliveries) on commit delete rows",
)
_ATTEMPT: Final = ", ".join(AttemptRow._fields)
_DELIVERY: Final = ", ".join(DeliveryRow._fields)
_CHANGING: Final = tuple(
    name for name in DeliveryRow._fields if name not in {"created_at", "id", "event_id", "target"}
)
_KEEP_ATTEMPTS: Final = f"""
insert into outbox.attempts ({_ATTEMPT}) select {_ATTEMPT} from stage_attempts order by created_at, delivery_id, id
on conflict (created_at, delivery_id, id) do nothing
"""  # noqa: S608 - column names of ours, here and below
_KEEP_DELIVERIES: Final = f"""
insert into outbox.deliveries as known ({_DELIVERY})
select {_DELIVERY} from stage_deliveries order by created_at, id
on conflict (created_at, id) do update set {", ".join(f"{name} = excluded.{name}" for name in _CHANGING)}
where ({", ".join(f"excluded.{name}" for name in RANK)}) > ({", ".join(f"known.{name}" for name in RANK)})
"""  # noqa: S608


class DeliveryLogWriter(DayWriter):
    """The log in one database, over a connection of its own: opened when needed, anew after an error. One thread's."""

    def __init__(self, url: str) -> None:
        super().__init__(url, tables=TABLES, session=_SESSION)

    def write(self, attempts: Sequence[AttemptRow], deliveries: Sequence[DeliveryRow]) -> None:
        """Write a batch: all of it or nothing. Deliveries are those of the attempts, each once; attempts may repeat.

        Raises:
            RowRefusedError: Postgres can't store one of them.
        """
        self.make_days({row.created_at.date() for row in attempts})
        with self.connected() as connection, connection.transaction():
            copy_rows(connection, "stage_attempts", AttemptRow._fields, attempts)
            copy_rows(connection, "stage_deliveries", DeliveryRow._fields, deliveries)
            connection.execute(_KEEP_ATTEMPTS)
            connection.execute(_KEEP_DELIVERIES)
