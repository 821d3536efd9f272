"""How many deliveries at once stand in the log: one question by key, for whoever goes through events.

Place in the data's way: asked by recoveries, which leave out what was delivered or is under way. Must not: change
anything, or search: each delivery's id and time are known, and lead to one row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors
from connectors.postgres.log_rows import DeliveryStatus

__all__ = ["statuses_of"]

# The bounds say nothing new; by them Postgres passes over the other days' partitions.
_STATUSES: Final = """
select known.id, known.status
from unnest(%(times)s::timestamptz[], %(ids)s::uuid[]) as asked (created_at, id)
join outbox.deliveries known on known.created_at = asked.created_at and known.id = asked.id
where known.created_at between %(first)s and %(last)s
"""


def statuses_of(
    connection: psycopg.Connection[Any], wanted: Collection[tuple[datetime, UUID]]
) -> Mapping[UUID, DeliveryStatus]:
    """The statuses of these deliveries, by id; those that the log doesn't have are left out.

    Args:
        connection: to the database.
        wanted: of each when its event was committed, to the millisecond, and its id (`delivery_id`).

    Raises:
        SchemaMissingError, DatabaseUnreachableError, StatementFailedError: as Postgres says.
    """
    if not wanted:
        return {}
    times = [created_at for created_at, _ in wanted]
    values = {
        "times": times,
        "ids": [identifier for _, identifier in wanted],
        "first": min(times),
        "last": max(times),
    }
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    with statement_errors(), cursor:
        return dict(cursor.execute(_STATUSES, values).fetchall())
