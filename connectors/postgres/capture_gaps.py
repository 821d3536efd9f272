"""When a gap in the capture of rows was closed, as `outbox setup` notes it.

Place in the data's way: beside the slot. A slot that was made anew has confirmed nothing of what was committed before
it, and its position says the opposite: only this table knows. Written before the gap is closed, so that a setup which
is killed in between has noted one too many rather than one too few.
"""

from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import connect, statement_errors

__all__ = ["gap_ended_at", "note_gap"]

_NOTE: LiteralString = """
insert into outbox.capture_gaps (slot, ended_at) values (%s, clock_timestamp())
on conflict (slot) do update set ended_at = greatest(capture_gaps.ended_at, excluded.ended_at)
"""
_READ: LiteralString = "select ended_at from outbox.capture_gaps where slot = %s"


def note_gap(database_url: str, *, slot: str) -> None:
    """Note that rows committed up to now may not have been captured.

    Raises:
        PostgresError: no connection, or the role may not.
    """
    with connect(database_url) as connection, statement_errors():
        connection.execute(_NOTE, [slot])


def gap_ended_at(connection: psycopg.Connection[Any], *, slot: str) -> datetime | None:
    """When the last gap ended; None: nobody noted one.

    Raises:
        PostgresError: Postgres refused, or is gone.
    """
    with statement_errors(), connection.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(_READ, [slot]).fetchone()
    return None if row is None else row[0]
