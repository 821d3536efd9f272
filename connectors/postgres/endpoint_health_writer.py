"""Keeping endpoints' health: what the attempts of a batch say, joined with the rows that are there.

Place in the data's way: the last step of the delivery log's transaction, so that a batch is in both or in neither.
Invariants: nobody waits in a circle for it. All who keep health make missing rows first, in the order of ids, and only
then lock rows, in the same order; who changes an endpoint holds that endpoint's row and then one row here, and nothing
here ever waits for an endpoint's row. An endpoint that is gone gets no row. Must not: decide anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.endpoint_health import EndpointHealth, EndpointTurn, JudgedEndpoint
from connectors.postgres.endpoint_health_rows import SELECT, judged_of

__all__ = ["keep_health"]

_MAKE_ROWS: Final = """
insert into outbox.endpoint_health (endpoint_id, counted_from)
select id, created_at from outbox.endpoints e
where id = any(%(ids)s) and not exists (select from outbox.endpoint_health h where h.endpoint_id = e.id)
order by id
on conflict do nothing
"""
_LOCK: Final = f"{SELECT} where h.endpoint_id = any(%(ids)s) order by h.endpoint_id for update of h"
_WRITE: Final = """
update outbox.endpoint_health as known
set last_success_at = seen.last_success_at, last_failure_at = seen.last_failure_at,
    last_failure_id = seen.last_failure_id, last_error = seen.last_error, last_status = seen.last_status,
    gone_at = seen.gone_at, failing_first = seen.failing_first, failing_minutes = seen.failing_minutes,
    failing_since = seen.failing_since
from unnest(
    %b::text[], %b::timestamptz[], %b::timestamptz[], %b::uuid[], %b::text[], %b::smallint[], %b::timestamptz[],
    %b::bigint[], %b::bytea[], %b::timestamptz[]
) as seen (endpoint_id, last_success_at, last_failure_at, last_failure_id, last_error, last_status, gone_at,
           failing_first, failing_minutes, failing_since)
where known.endpoint_id = seen.endpoint_id
"""


def keep_health(
    connection: psycopg.Connection[Any], turns: Iterable[EndpointTurn]
) -> Sequence[JudgedEndpoint]:
    """Join these turns to what is known, in the transaction that is open; return their endpoints as they are then."""
    by_endpoint: dict[str, list[EndpointTurn]] = {}
    for turn in turns:
        by_endpoint.setdefault(turn.endpoint_id, []).append(turn)
    if not by_endpoint:
        return ()
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        known = _locked(cursor, by_endpoint)
        seen = [replace(one, health=one.health.after(by_endpoint[one.health.endpoint_id])) for one in known]
        changed = [now.health for before, now in zip(known, seen, strict=True) if now != before]
        if changed:
            cursor.execute(_WRITE, [list(column) for column in zip(*map(_values, changed), strict=True)])
    return seen


def _locked(
    cursor: psycopg.Cursor[tuple[Any, ...]], by_endpoint: Mapping[str, object]
) -> list[JudgedEndpoint]:
    ids = {"ids": list(by_endpoint)}
    cursor.execute(_MAKE_ROWS, ids)
    return [judged_of(row) for row in cursor.execute(_LOCK, ids, binary=True)]


def _values(health: EndpointHealth) -> tuple[Any, ...]:
    signs = health.signs
    failure, failing = signs.last_failure, signs.failing
    return (
        health.endpoint_id,
        signs.last_success_at,
        None if failure is None else failure.at,
        None if failure is None else failure.attempt_id,
        None if failure is None else failure.error,
        None if failure is None else failure.http_status,
        signs.gone_at,
        failing.first if failing else None,
        failing.to_bytes() if failing else None,
        health.failing_since,
    )
