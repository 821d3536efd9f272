"""Which targets the delivery log has: whom events went to, as far back as it keeps days.

Place in the data's way: its end. Handlers are known to the workers alone; here is what they have delivered to.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors

__all__ = ["logged_handlers"]

# From each target to the next one by the index: as many steps as there are targets, whatever the number of rows.
_HANDLERS: Final = """
with recursive targets as (
    (select target from outbox.deliveries order by target limit 1)
    union all
    select (select next.target from outbox.deliveries next where next.target > targets.target order by 1 limit 1)
    from targets where targets.target is not null
)
select target from targets where target like 'handler:%' order by target
"""


def logged_handlers(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """The handlers that the delivery log has deliveries to, as `handler:<name>`.

    Raises:
        SchemaMissingError, DatabaseUnreachableError, StatementFailedError: as Postgres says.
    """
    with statement_errors(), psycopg.Cursor(connection, row_factory=tuple_row) as rows:
        return tuple(target for (target,) in rows.execute(_HANDLERS))
