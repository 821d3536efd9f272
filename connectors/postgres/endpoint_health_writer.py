"""Keeping endpoints' health: what the attempts of a batch say, joined with the rows that are there.

Place in the data's way: the last step of the delivery log's transaction, so that a batch is in both or in neither.
Invariants: nobody waits in a circle for it. All who keep health lock their rows at once, in the order of ids; who
changes an endpoint holds that endpoint's row and then one row here, and nothing here ever waits for an endpoint's row.
An endpoint that is gone has no row, and gets none. Must not: decide anything.

Most endpoints of a batch have taken what they got, and are not failing: Postgres itself joins one time with another,
and their rows are not read. The others are joined by `EndpointHealth`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.endpoint_health import EndpointHealth, EndpointTurn, JudgedEndpoint
from connectors.postgres.endpoint_health_rows import NAMES, judged_of

__all__ = ["keep_health"]

# The rows of all are locked, and those of few are given.
_LOCK: Final = f"""
with h as materialized (
    select * from outbox.endpoint_health where endpoint_id = any(%(ids)s) order by endpoint_id for update
)
select {NAMES}, h.failing_first, h.failing_minutes from h join outbox.endpoints e on e.id = h.endpoint_id
where h.endpoint_id = any(%(failed)s) or h.failing_since is not null
"""  # noqa: S608 - column names of ours
_SUCCEEDED: Final = """
update outbox.endpoint_health as known set last_success_at = seen.at
from unnest(%b::text[], %b::timestamptz[]) as seen (endpoint_id, at)
where known.endpoint_id = seen.endpoint_id and seen.at > known.counted_from
  and (known.last_success_at is null or seen.at > known.last_success_at)
"""
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
    """Join these turns to what is known, in the transaction that is open.

    Returns those endpoints, as they are then, that have failed or were failing.
    """
    by_endpoint: dict[str, list[EndpointTurn]] = {}
    for turn in turns:
        by_endpoint.setdefault(turn.endpoint_id, []).append(turn)
    if not by_endpoint:
        return ()
    failed = {endpoint_id for endpoint_id, those in by_endpoint.items() if any(map(_is_failure, those))}
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        rows = cursor.execute(_LOCK, {"ids": list(by_endpoint), "failed": list(failed)}, binary=True)
        known = [judged_of(row) for row in rows]
        joined = failed | {one.health.endpoint_id for one in known}
        succeeded = {
            endpoint_id: max(turn.at for turn in those)
            for endpoint_id, those in by_endpoint.items()
            if endpoint_id not in joined
        }
        _keep_successes(cursor, succeeded)
        seen = [replace(one, health=one.health.after(by_endpoint[one.health.endpoint_id])) for one in known]
        changed = [now.health for before, now in zip(known, seen, strict=True) if now != before]
        if changed:
            cursor.execute(_WRITE, [list(column) for column in zip(*map(_values, changed), strict=True)])
    return seen


def _is_failure(turn: EndpointTurn) -> bool:
    return turn.error is not None


def _keep_successes(cursor: psycopg.Cursor[tuple[Any, ...]], succeeded: Mapping[str, datetime]) -> None:
    if succeeded:
        cursor.execute(_SUCCEEDED, [list(succeeded), list(succeeded.values())])


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
