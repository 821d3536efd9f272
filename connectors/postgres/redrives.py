"""Redriving dead letters: choosing them, and giving each to one replay.

Place in the data's way: between who asks (API, command line) and the replayer, which sends what it is given here.
Invariants: a letter is given to a replay in the transaction that makes the replay, and only if it was open: however
many ask for it at once, one gets it. A letter that its replay has not sent, and never will, is opened again. Must not:
send anything, or look into Kafka.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import tuple_row

from connectors.postgres.audit import Actor
from connectors.postgres.connection import statement_errors
from connectors.postgres.dead_letter import DeadLetterQuery
from connectors.postgres.dead_letters import chosen_letters
from connectors.postgres.errors import NothingToRedriveError, PoisonRefusedError
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import NewReplay, Replay

__all__ = ["GivenLetter", "Poison", "RedriveStore", "Redriven"]

Poison = Literal["refuse", "leave", "include"]
"""What is done with poison among the chosen: none is redriven at all, or those are left out, or they are taken too."""

_CLAIM: Final = """
with chosen as (
    select died_at, id from outbox.dead_letters {where} order by died_at, id for update
)
update outbox.dead_letters letter
set status = 'redriven', changed_at = clock_timestamp(), changed_by = %(actor)s, replay_id = %(replay_id)s
from chosen where letter.died_at = chosen.died_at and letter.id = chosen.id
"""
_POISONED: Final = "select count(*) from outbox.dead_letters {where}"
_GIVEN: Final = "select count(*) from outbox.dead_letters where replay_id = %(replay_id)s"
_RANGES: Final = """
select place_partition, min(place_offset), max(place_offset) + 1, count(*) from outbox.dead_letters
where replay_id = %(replay_id)s group by place_partition order by place_partition
"""
_NEXT: Final = """
select id, place_partition, place_offset, event_id, target from outbox.dead_letters
where replay_id = %(replay_id)s and place_partition = %(partition)s
    and place_offset >= %(least)s and place_offset < %(end)s
order by place_offset limit %(most)s
"""
_REOPEN: Final = """
update outbox.dead_letters set status = 'open', changed_at = null, changed_by = null, replay_id = null
where replay_id = %(replay_id)s and id = any(%(ids)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenLetter:
    """A dead letter that a replay has to send: where it stands on `outbox.dead-letter`, and what stands there."""

    id: UUID
    partition: int
    offset: int
    event_id: UUID | None
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """The replay that redrives, and how many letters it was given."""

    replay: Replay
    letters: int


class RedriveStore:
    """The redrives of one database, over a connection that the caller owns. Each method is one transaction.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.
    """

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def request(
        self,
        query: DeadLetterQuery,
        *,
        poison: Poison,
        rate_per_s: float,
        selection: Mapping[str, Any],
        actor: Actor,
        idempotency_key: str | None = None,
    ) -> Redriven:
        """Give the open letters that a query finds to a new replay; or return the one that this key made before.

        Args:
            query: which letters.
            poison: what is done with poison among them.
            rate_per_s: how many are sent a second, at most.
            selection: what was asked for, as it is stored with the replay.
            actor: who asks.
            idempotency_key: of the request; None: each request is a new one.

        Raises:
            PoisonRefusedError: some are poison, and that is refused.
            NothingToRedriveError: none of them is open.
            IdempotencyKeyReusedError: the key made another request's replay.
        """
        new = NewReplay(kind="redrive", target=query.target, selection=selection, rate_per_s=rate_per_s)
        with statement_errors(), self._connection.transaction():
            store = ReplayStore(self._connection, actor=actor)
            replay, is_new = store.request_once(new, idempotency_key=idempotency_key)
            if not is_new:
                # It may have ended, and given letters back: whatever is given to it now would never be sent.
                return Redriven(replay=replay, letters=self._number(_GIVEN, {"replay_id": replay.id}))
            if poison == "refuse":
                where, values = chosen_letters(query, "status = 'open'", "class = 'poison'")
                poisoned = self._number(_filled(_POISONED, where), values)
                if poisoned:
                    raise PoisonRefusedError(poisoned)
            healthy: tuple[LiteralString, ...] = () if poison == "include" else ("class <> 'poison'",)
            where, values = chosen_letters(query, "status = 'open'", *healthy)
            claimed = self._connection.execute(
                _filled(_CLAIM, where), {**values, "actor": actor.name, "replay_id": replay.id}
            ).rowcount
            if not claimed:
                raise NothingToRedriveError
        return Redriven(replay=replay, letters=claimed)

    def ranges(self, replay_id: str) -> Mapping[int, tuple[int, int, int]]:
        """Per partition of `outbox.dead-letter`: a replay's first letter, the offset behind its last, and how many."""
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            found = rows.execute(_RANGES, {"replay_id": replay_id})
            return {number: (first, end, count) for number, first, end, count in found}

    def given(
        self, replay_id: str, *, partition: int, least: int, end: int, most: int
    ) -> tuple[GivenLetter, ...]:
        """The next of a replay's letters in a partition, with offsets in [least, end), in order."""
        values = {"replay_id": replay_id, "partition": partition, "least": least, "end": end, "most": most}
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            return tuple(
                GivenLetter(id=letter_id, partition=number, offset=offset, event_id=event_id, target=target)
                for letter_id, number, offset, event_id, target in rows.execute(_NEXT, values)
            )

    def reopen(self, replay_id: str, letters: Collection[UUID]) -> None:
        """Open letters again that a replay was given and never sends."""
        if letters:
            with statement_errors(), self._connection.transaction():
                self._connection.execute(_REOPEN, {"replay_id": replay_id, "ids": list(letters)})

    def _number(self, statement: LiteralString, values: Mapping[str, object]) -> int:
        with self._cursor() as rows:
            row = rows.execute(statement, values).fetchone()
        return 0 if row is None else int(row[0])

    def _cursor(self) -> psycopg.Cursor[tuple[Any, ...]]:
        return psycopg.Cursor(self._connection, row_factory=tuple_row)


def _filled(statement: LiteralString, where: LiteralString) -> LiteralString:
    return statement.replace("{where}", where)
