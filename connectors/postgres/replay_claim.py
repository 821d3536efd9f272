"""Executing a replay alone: a claim, held by a session's advisory lock, and the progress that is stored under it.

Place in the data's way: between `outbox.replays` and the replayer. Invariants: as long as the session lives, nobody
else executes this replay, and of recoveries nobody else one for the same target; when it ends, however it does,
anybody may. Progress is written over the very connection that holds the lock: who has lost it finds out before it
sends more. Not through a pooler that shares connections between transactions: the lock would be somebody else's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, LiteralString, Self

import orjson
import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.connection import SILENCE_PARAMETERS, connect, statement_errors
from connectors.postgres.stored_replay import COLUMNS, Offsets, Replay, ReplayKind, stored_replay

__all__ = ["ReplayClaim", "ReplayClaims"]

_PARAMETERS: Final = {"application_name": "outbox-replayer", **SILENCE_PARAMETERS}
_WITHIN: Final = "set statement_timeout = '30s'"
_MOST: Final = 100
# Constants, here and below; values are passed as parameters.
# Of several recoveries of one target only one can be executed: the others would hide what else there is behind them.
_OPEN: Final = f"""
select {COLUMNS} from (
    select *, row_number() over (partition by kind, target order by status = 'waiting', id) as place
    from outbox.replays where status in ('waiting', 'running') and kind = any(%(kinds)s)
) as open
where (%(id)s::text is null and (kind <> 'recovery' or place = 1) or id = %(id)s)
    and id <> all(%(put_off)s::text[])
order by array_position(%(came_back)s::text[], id) nulls first, id limit {_MOST}
"""  # noqa: S608
#: Redrives that ended before their end, with letters that were given to them and may not have been sent.
_UNRELEASED: Final = f"""
select {COLUMNS} from outbox.replays
where kind = 'redrive' and status in ('stopped', 'failed') and exists (
    select from outbox.dead_letters letter
    where letter.replay_id = replays.id
        and letter.place_offset >= coalesce((next_offsets ->> letter.place_partition::text)::bigint, 0)
)
order by replays.id limit {_MOST}
"""  # noqa: S608
_LOCK: Final = "select pg_try_advisory_lock(hashtextextended(%(name)s, 4982931))"
_UNLOCK: Final = "select pg_advisory_unlock(hashtextextended(%(name)s, 4982931))"
_READ: Final = f"select {COLUMNS} from outbox.replays where id = %(id)s"  # noqa: S608
_RECOVERED: Final = """
select max(started_at), sum(sent) from outbox.replays where kind = 'recovery' and target = %(target)s
"""
_WAIT: Final = """
update outbox.replays set waits_for = %(reason)s where id = %(id)s and status in ('waiting', 'running')
"""
_START: Final = """
update outbox.replays
set status = 'running', started_at = clock_timestamp(), waits_for = null, warning = %(warning)s,
    events_to_read = %(to_read)s, next_offsets = %(next)s::jsonb, end_offsets = %(ends)s::jsonb,
    sent_offsets = %(sent_from)s::jsonb
where id = %(id)s and status = 'waiting'
"""
# Also of one that was stopped meanwhile: what was sent, was.
_ADVANCE: Final = """
update outbox.replays
set events_read = events_read + %(read)s, sent = sent + %(sent)s, skipped = skipped + %(skipped)s,
    next_offsets = %(next)s::jsonb, sent_offsets = %(sent_from)s::jsonb, waits_for = null
where id = %(id)s
"""
_END: Final = """
update outbox.replays
set status = %(status)s, error = %(error)s, warning = coalesce(%(warning)s, warning),
    ended_at = clock_timestamp(), waits_for = null
where id = %(id)s and status in ('waiting', 'running')
"""


class ReplayClaim:
    """One replay, and the right to execute it. Made by `ReplayClaims`; one thread's.

    All methods raise `DatabaseUnreachableError` when the session is lost, and with it the claim.
    """

    def __init__(self, connection: psycopg.Connection[Any], replay_id: str) -> None:
        self._connection = connection
        self._id = replay_id

    @property
    def replay_id(self) -> str:
        """Which one."""
        return self._id

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The session. What is read over it is read while the claim is held."""
        return self._connection

    def replay(self) -> Replay:
        """The replay as it is now: somebody may have stopped it."""
        with statement_errors(), self._cursor() as cursor:
            row = cursor.execute(_READ, {"id": self._id}).fetchone()
        assert row is not None  # noqa: S101 - nothing deletes one that has not ended
        return stored_replay(row)

    def recovered_so_far(self, target: str) -> tuple[Any, ...]:
        """What is another as soon as a recovery of this target begins, or has sent more."""
        with statement_errors(), self._cursor() as cursor:
            row = cursor.execute(_RECOVERED, {"target": target}).fetchone()
        return row or ()

    def wait_for(self, reason: str) -> None:
        """Say why it gets no further just now."""
        self._write(_WAIT, reason=reason)

    def start(
        self,
        *,
        begins: Offsets,
        ends: Offsets,
        sent_from: Offsets,
        to_read: int,
        warning: str | None,
    ) -> None:
        """It begins: nothing was read, nothing was sent."""
        self._write(
            _START,
            next=_json(begins),
            ends=_json(ends),
            sent_from=_json(sent_from),
            to_read=to_read,
            warning=warning,
        )

    def advance(
        self, *, read: int, sent: int, skipped: int, next_offsets: Offsets, sent_from: Offsets
    ) -> None:
        """Store the progress of a batch that Kafka has acknowledged, and where the next one's records will be found."""
        self._write(
            _ADVANCE,
            read=read,
            sent=sent,
            skipped=skipped,
            next=_json(next_offsets),
            sent_from=_json(sent_from),
        )

    def end(self, status: str, *, error: str | None = None, warning: str | None = None) -> None:
        """It is done, or has failed. One that was stopped stays so."""
        self._write(_END, status=status, error=error, warning=warning)

    def close(self) -> None:
        """Give the claim up: anybody may have it now."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Hold it for a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it up."""
        self.close()

    def _write(self, statement: str, **values: Any) -> None:
        with statement_errors(), self._cursor() as cursor:
            cursor.execute(statement, {"id": self._id, **values})

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


class ReplayClaims:
    """Finds replays to execute. Keeps a connection while there are none; a claim that is made takes it along.

    Args:
        url: of the database.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    def claim(
        self,
        kinds: Collection[ReplayKind],
        *,
        replay_id: str | None = None,
        put_off: Collection[str] = (),
        came_back: Sequence[str] = (),
    ) -> ReplayClaim | None:
        """Claim the oldest replay of these kinds that has not ended and that nobody executes, or the given one.

        Args:
            kinds: of these.
            replay_id: this one alone.
            put_off: none of these.
            came_back: these after all others, in this order.

        Returns:
            The claim, which its holder closes; None when there is nothing to claim.

        Raises:
            DatabaseUnreachableError, SchemaMissingError, StatementFailedError: as Postgres says. It can be tried again.
        """
        values = {
            "kinds": list(kinds),
            "id": replay_id,
            "put_off": list(put_off),
            "came_back": list(came_back),
        }
        return self._first(_OPEN, values, are_open=True)

    def claim_unreleased(self) -> ReplayClaim | None:
        """Claim the oldest redrive that ended early and has letters left, which nobody executes any more.

        Raises:
            DatabaseUnreachableError, SchemaMissingError, StatementFailedError: as `claim`.
        """
        return self._first(_UNRELEASED, {}, are_open=False)

    def _first(
        self, statement: LiteralString, values: Mapping[str, object], *, are_open: bool
    ) -> ReplayClaim | None:
        try:
            with statement_errors():
                connection = self._opened()
                claimed = _claim(connection, statement, values, are_open=are_open)
        except BaseException:
            self.close()
            raise
        if claimed is None:
            return None
        self._connection = None
        return ReplayClaim(connection, claimed)

    def close(self) -> None:
        """Close the connection. It would be opened again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = connect(self._url, **_PARAMETERS)
            self._connection.autocommit = True
            self._connection.execute(_WITHIN)
        return self._connection


def _claim(
    connection: psycopg.Connection[Any],
    statement: LiteralString,
    values: Mapping[str, object],
    *,
    are_open: bool,
) -> str | None:
    cursor = psycopg.Cursor(connection, row_factory=tuple_row)
    for row in cursor.execute(statement, values).fetchall():
        replay = stored_replay(row)
        names = _locks(replay)
        held = [name for name in names if _truth(connection, _LOCK, name)]
        # Read again: who held the lock until now may have ended it.
        if held == names and stored_replay(_read(connection, replay.id)).is_open is are_open:
            return replay.id
        for name in held:
            _truth(connection, _UNLOCK, name)
    return None


def _locks(replay: Replay) -> list[str]:
    """What is locked for a replay: itself, and for a recovery its target.

    What one recovery has sent is not in the delivery log yet when another of the same target looks there.
    """
    names = [f"replay {replay.id}"]
    return [*names, f"recovery of {replay.target}"] if replay.kind == "recovery" else names


def _read(connection: psycopg.Connection[Any], replay_id: str) -> tuple[Any, ...]:
    row = psycopg.Cursor(connection, row_factory=tuple_row).execute(_READ, {"id": replay_id}).fetchone()
    assert row is not None  # noqa: S101 - it was listed a moment ago
    return row


def _truth(connection: psycopg.Connection[Any], statement: str, name: str) -> bool:
    row = connection.execute(statement, {"name": name}).fetchone()
    return row is not None and row[0] is True


def _json(offsets: Mapping[int, int]) -> str:
    return orjson.dumps({str(number): offset for number, offset in sorted(offsets.items())}).decode()
