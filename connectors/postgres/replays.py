"""The replays in one database: asking for one, looking at them, stopping one.

Place in the data's way: before the replayer, which executes what stands here (`replay_claim`). Invariants: a request
is one transaction with its audit entry; of one actor, kind and idempotency key there is one replay, however often and
at once it is asked for. Must not: send anything.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any, Final

import orjson
import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.audit import Actor, AuditLog
from connectors.postgres.connection import statement_errors
from connectors.postgres.errors import IdempotencyKeyReusedError, ReplayNotFoundError
from connectors.postgres.stored_replay import (
    COLUMNS,
    NewReplay,
    Replay,
    ReplayKind,
    later_replay_id,
    stored_replay,
)
from outbox.event_id import RANDOM_BITS

__all__ = ["ReplayStore"]

# Constants, here and below; values are passed as parameters.
_INSERT: Final = f"""
insert into outbox.replays (id, kind, target, selection, rate_per_s, requested_by, request_id, idempotency_key)
values (%(id)s, %(kind)s, %(target)s, %(selection)s::jsonb, %(rate_per_s)s, %(actor)s, %(request_id)s, %(key)s)
on conflict (requested_by, kind, idempotency_key) do nothing
returning {COLUMNS}
"""  # noqa: S608
_LATEST: Final = "select max(id) from outbox.replays"
_BY_KEY: Final = f"""
select {COLUMNS} from outbox.replays
where requested_by = %(actor)s and kind = %(kind)s and idempotency_key = %(key)s
"""  # noqa: S608
_ONE: Final = f"select {COLUMNS} from outbox.replays where id = %(id)s"  # noqa: S608
_PAGE: Final = f"""
select {COLUMNS} from outbox.replays
where %(before)s::text is null or id < %(before)s
order by id desc limit %(limit)s
"""  # noqa: S608
_STOP: Final = f"""
update outbox.replays set status = 'stopped', ended_at = clock_timestamp(), waits_for = null
where id = %(id)s and status in ('waiting', 'running')
returning {COLUMNS}
"""  # noqa: S608


class ReplayStore:
    """The replays, over a connection that the caller owns. Each method is one transaction, or a part of an open one.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.

    Args:
        connection: to the database.
        actor: who asks.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, actor: Actor) -> None:
        self._connection = connection
        self._actor = actor

    def request(
        self, new: NewReplay, *, idempotency_key: str | None, endpoint_ids: Sequence[str] = ()
    ) -> Replay:
        """Store a request, or give the replay that this key made before.

        Args:
            new: what is asked for.
            idempotency_key: of the request; None: each request is a new one.
            endpoint_ids: which endpoints it is about; each has an audit entry, and one that is about none has one.

        Raises:
            IdempotencyKeyReusedError: the key made another request's replay.
        """
        return self.request_once(new, idempotency_key=idempotency_key, endpoint_ids=endpoint_ids)[0]

    def request_once(
        self, new: NewReplay, *, idempotency_key: str | None, endpoint_ids: Sequence[str] = ()
    ) -> tuple[Replay, bool]:
        """As `request`, and whether the replay is new: False where the key had made it before."""
        with statement_errors(), self._connection.transaction():
            row = self._row(_INSERT, **self._values(new, idempotency_key))
            if row is None:
                return self._same(new, idempotency_key), False
            self._note(f"{new.kind}.requested", endpoint_ids)
            return stored_replay(row), True

    def known(self, kind: ReplayKind, *, idempotency_key: str | None) -> Replay | None:
        """The replay that this actor's key made before, if it did."""
        with statement_errors(), self._connection.transaction():
            row = self._row(_BY_KEY, actor=self._actor.name, kind=kind, key=idempotency_key)
        return None if row is None else stored_replay(row)

    def get(self, replay_id: str) -> Replay:
        """Return one replay.

        Raises:
            ReplayNotFoundError: there is none of this id.
        """
        with statement_errors(), self._connection.transaction():
            row = self._row(_ONE, id=replay_id)
        if row is None:
            raise ReplayNotFoundError(replay_id)
        return stored_replay(row)

    def page(self, *, limit: int, before: str | None = None) -> tuple[Replay, ...]:
        """Read replays, newest first: those before one of which the id is given."""
        with statement_errors(), self._connection.transaction(), self._cursor() as cursor:
            return tuple(map(stored_replay, cursor.execute(_PAGE, {"limit": limit, "before": before})))

    def stop(self, replay_id: str) -> Replay:
        """Stop a replay, and return it. One that has ended stays as it is.

        Who executes it hears of it before its next record, or within a second: so much may still be sent.

        Raises:
            ReplayNotFoundError: there is none of this id.
        """
        with statement_errors(), self._connection.transaction():
            row = self._row(_STOP, id=replay_id)
            if row is None:
                return self.get(replay_id)
            stopped = stored_replay(row)
            self._note("replay.stopped", _endpoint_ids(stopped))
            return stopped

    def _note(self, action: str, endpoint_ids: Sequence[str]) -> None:
        for endpoint_id in endpoint_ids or (None,):
            AuditLog(self._connection).add(self._actor, action, endpoint_id=endpoint_id)

    def _same(self, new: NewReplay, idempotency_key: str | None) -> Replay:
        """The replay that the key made, if the request is the same."""
        known = self.known(new.kind, idempotency_key=idempotency_key)
        if known is None or (known.target, known.selection, known.rate_per_s) != (
            new.target,
            new.selection,
            new.rate_per_s,
        ):
            raise IdempotencyKeyReusedError
        return known

    def _values(self, new: NewReplay, idempotency_key: str | None) -> dict[str, Any]:
        latest = self._row(_LATEST)
        return {
            "id": later_replay_id(
                latest[0] if latest else None,
                unix_ms=time.time_ns() // 1_000_000,
                random_bits=secrets.randbits(RANDOM_BITS),
            ),
            "kind": new.kind,
            "target": new.target,
            "selection": orjson.dumps(dict(new.selection)).decode(),
            "rate_per_s": new.rate_per_s,
            "actor": self._actor.name,
            "request_id": self._actor.request_id,
            "key": idempotency_key,
        }

    def _row(self, statement: str, **values: Any) -> tuple[Any, ...] | None:
        with self._cursor() as cursor:
            return cursor.execute(statement, values).fetchone()

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


def _endpoint_ids(replay: Replay) -> list[str]:
    """Whose replay it is: of a range for several targets, the selection names them."""
    targets = [replay.target] if replay.target else replay.selection.get("targets", [])
    pairs = [target.partition(":") for target in targets]
    return [name for kind, _, name in pairs if kind == "endpoint"]
