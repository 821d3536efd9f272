"""Asking for endpoints' health, and noting what was told and done about it.

Place in the data's way: beside `EndpointStore`, which resets a health when an endpoint is enabled, moved, or gone;
behind the API, the command line and the doctor, which show it; and for the recorder's judge. Invariant: who holds a row
of endpoints and one of healths has taken the endpoint's first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import statement_errors
from connectors.postgres.endpoint_health import DisabledReason, EndpointHealth, JudgedEndpoint
from connectors.postgres.endpoint_health_rows import SELECT, SELECT_SHOWN, judged_of

__all__ = ["EndpointHealthTable"]

_OF: Final = f"{SELECT_SHOWN} where h.endpoint_id = any(%(ids)s)"
_LOCK_ENDPOINT: Final = "select from outbox.endpoints where id = %(id)s for update"
_LOCK: Final = f"{SELECT} where h.endpoint_id = %(id)s for update of h"
_TO_JUDGE: Final = f"""
{SELECT_SHOWN}
where h.disabled_at is null and (h.failing_since is not null or h.gone_at is not null)
  and e.enabled and (h.failing_since is not null or h.gone_at > greatest(h.counted_from, e.updated_at))
"""
_WARNED: Final = """
update outbox.endpoint_health
set warnings = %(warnings)s, warned_since = failing_since, warned_at = %(at)s where endpoint_id = %(id)s
"""
_DISABLED: Final = """
update outbox.endpoint_health set disabled_reason = %(reason)s, disabled_at = %(at)s where endpoint_id = %(id)s
"""
_BEGIN: Final = """
insert into outbox.endpoint_health as known (endpoint_id, counted_from)
values (%(id)s, coalesce(%(at)s, clock_timestamp()))
on conflict (endpoint_id) do update
set counted_from = excluded.counted_from, gone_at = null, failing_first = null, failing_minutes = null,
    failing_since = null, warnings = 0, warned_since = null, warned_at = null, disabled_reason = null,
    disabled_at = null
"""
_FORGET: Final = "delete from outbox.endpoint_health where endpoint_id = %(id)s"
#: For endpoints that a program of an earlier version, or somebody's SQL, has added or removed.
_ADD_MISSING: Final = """
insert into outbox.endpoint_health (endpoint_id, counted_from)
select id, created_at from outbox.endpoints e
where not exists (select from outbox.endpoint_health h where h.endpoint_id = e.id)
order by id
on conflict do nothing
"""
#: What a recorder holds is left for the next time.
_SWEEP: Final = """
delete from outbox.endpoint_health where endpoint_id in (
    select endpoint_id from outbox.endpoint_health h
    where not exists (select from outbox.endpoints e where e.id = h.endpoint_id)
    order by endpoint_id for update skip locked
)
"""
_DISABLED_LATELY: Final = """
select count(*) from outbox.endpoint_health h join outbox.endpoints e on e.id = h.endpoint_id
where not e.enabled and h.disabled_at > now() - %(within)s
"""


class EndpointHealthTable:
    """The healths in one database, over a connection that the caller owns.

    All methods raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def of(self, endpoint_ids: Collection[str]) -> Mapping[str, EndpointHealth]:
        """The healths of these endpoints, by id, without their minutes; in one statement."""
        if not endpoint_ids:
            return {}
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            rows = cursor.execute(_OF, {"ids": list(endpoint_ids)}, binary=True)
            return {one.health.endpoint_id: one.health for one in map(judged_of, rows)}

    def to_judge(self) -> tuple[JudgedEndpoint, ...]:
        """The enabled endpoints that fail, or are gone, without their minutes."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(map(judged_of, cursor.execute(_TO_JUDGE, binary=True)))

    def held(self, endpoint_id: str) -> JudgedEndpoint | None:
        """An endpoint and its health, locked in the transaction that is open; None if one of them is not there."""
        with statement_errors(), self._cursor() as cursor:
            cursor.execute(_LOCK_ENDPOINT, {"id": endpoint_id})
            row = cursor.execute(_LOCK, {"id": endpoint_id}, binary=True).fetchone()
        return None if row is None else judged_of(row)

    def note_warning(self, endpoint_id: str, *, warnings: int, at: datetime) -> None:
        """Note how many steps of warning were told, in the transaction that is open."""
        self._execute(_WARNED, {"id": endpoint_id, "warnings": warnings, "at": at})

    def note_disabled(self, endpoint_id: str, *, reason: DisabledReason, at: datetime) -> None:
        """Note that it was disabled automatically, in the transaction that is open."""
        self._execute(_DISABLED, {"id": endpoint_id, "reason": reason, "at": at})

    def begin(self, endpoint_id: str, *, at: datetime | None = None) -> None:
        """It was made then, or was enabled or moved now: what was attempted before says nothing of it."""
        self._execute(_BEGIN, {"id": endpoint_id, "at": at})

    def forget(self, endpoint_id: str) -> None:
        """It is gone."""
        self._execute(_FORGET, {"id": endpoint_id})

    def tidy(self) -> None:
        """Have one row for each endpoint, whoever has added or removed it."""
        self._execute(_ADD_MISSING, {})
        self._execute(_SWEEP, {})

    def disabled_lately(self, *, within: timedelta) -> int:
        """How many endpoints were disabled automatically within this time, and still are."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            row = cursor.execute(_DISABLED_LATELY, {"within": within}).fetchone()
        return 0 if row is None else int(row[0])

    def _execute(self, statement: str, values: Mapping[str, Any]) -> None:
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            cursor.execute(statement, values)

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)
