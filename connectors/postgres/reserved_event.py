"""Appending an event of a reserved type: what the processor itself has to say, through its own outbox.

Place in the data's way: beside the library's `append`, which refuses these types; the row goes the way of all events.
In the caller's transaction, so that what is said is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

import orjson
import psycopg

from connectors.postgres.connection import statement_errors
from outbox.event_id import new_event_id

__all__ = ["append_reserved"]

_INSERT: Final = """
insert into outbox.outbox (id, type, aggregate_type, aggregate_id, payload)
values (%(id)s, %(type)s, 'endpoint', %(endpoint_id)s, %(payload)s)
"""


def append_reserved(
    connection: psycopg.Connection[Any], event_type: str, *, endpoint_id: str, payload: Mapping[str, Any]
) -> UUID:
    """Append the event, in the transaction that is open, and return its id. Times in the payload are written in UTC."""
    event_id = new_event_id()
    text = orjson.dumps(dict(payload), option=orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC).decode()
    with statement_errors(), psycopg.Cursor(connection) as cursor:
        cursor.execute(
            _INSERT, {"id": event_id, "type": event_type, "endpoint_id": endpoint_id, "payload": text}
        )
    return event_id
