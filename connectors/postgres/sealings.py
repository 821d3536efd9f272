"""How what endpoints keep secret is stored: sealed, and with which keys, or as plain text.

Place in the data's way: beside it. The doctor and the command that reseals ask this. Reads no secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors

__all__ = ["SealingCount", "count_sealings"]

# The key's id stands between the second colon and the third; a plain text has none.
_COUNT: Final = """
select key_id, count(*) from (
    select unnest(secrets) as record from outbox.endpoints
    union all
    select value from outbox.endpoints, jsonb_each_text(headers)
) as records, lateral (
    select case when record like 'sealed:v1:%' then split_part(record, ':', 3) else '' end as key_id
) as sealings
group by key_id order by key_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealingCount:
    """How many secrets and header values are sealed with one key; `key_id` is None for those that are plain text."""

    key_id: str | None
    count: int


def count_sealings(connection: psycopg.Connection[Any]) -> tuple[SealingCount, ...]:
    """Count what is sealed with which key, and what is plain text.

    Raises:
        SchemaMissingError, DatabaseUnreachableError, StatementFailedError: as Postgres says.
    """
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    with statement_errors(), connection.transaction(), cursor:
        return tuple(
            SealingCount(key_id=key_id or None, count=count) for key_id, count in cursor.execute(_COUNT)
        )
