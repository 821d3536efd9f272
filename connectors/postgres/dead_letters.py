"""Reading the dead letters, and putting some aside: what died, why, and what became of it.

Place in the data's way: its end, where the command line and the API ask. The recorder adds the rows, which are behind
the dead letters by a moment. Invariants: a letter is taken once, however many ask for it at once: whoever changes its
status found it open, and holds its row until the change is committed. Pages are cut by time and id, so they neither
skip nor repeat a letter while others die. Must not: send anything; that is a replay's matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from connectors.epoch import epoch_ms
from connectors.postgres.audit import A_PROGRAM, Actor, AuditLog
from connectors.postgres.connection import statement_errors
from connectors.postgres.dead_letter import DeadLetter, DeadLetterPage, DeadLetterQuery, LetterClass
from connectors.postgres.delivery_id import created_at_of, delivery_id
from connectors.postgres.errors import DeadLetterNotFoundError
from connectors.postgres.log_page import after, in_utc, read_id, where

__all__ = ["DeadLetters", "FirstError", "LetterGroup", "chosen_letters", "letters_statement"]

_SELECT: Final = """
select id, place_partition || '/' || place_offset as place, class as letter_class, code, error, event_id, event_type,
       target, attempts, origin, created_at, first_failed_at, died_at, died_in_replay_id, status, changed_at,
       changed_by, replay_id
from outbox.dead_letters
"""
_NEWEST_FIRST: Final = " order by died_at desc, id desc limit %(limit)s"
_GROUPS: Final = """
select count(*) as number, class as letter_class, code, target from outbox.dead_letters {where}
group by class, code, target order by number desc, class, code, target nulls first
"""
_FIRST_ERROR: Final = """
select delivery_id, started_at as failed_at, error from outbox.attempts
where created_at = %(created_at)s and delivery_id = %(delivery_id)s and replay_id = %(replay_id)s
    and error is not null and outcome not in ('deferred', 'cancelled')
order by started_at, attempt, deferrals limit 1
"""
#: In one order by everybody: two of them never wait for each other in a circle.
_DISCARD: Final = """
with chosen as (
    select died_at, id from outbox.dead_letters {where} order by died_at, id for update
)
update outbox.dead_letters letter
set status = 'discarded', changed_at = clock_timestamp(), changed_by = %(actor)s
from chosen where letter.died_at = chosen.died_at and letter.id = chosen.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterGroup:
    """So many dead letters of one class, code and target."""

    number: int
    letter_class: LetterClass
    code: str
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstError:
    """What a delivery failed with at first, as the delivery log has it."""

    delivery_id: UUID
    failed_at: datetime
    error: str


class DeadLetters:
    """The dead letters in one database, over a connection that the caller owns. Each method is one transaction.

    All raise `SchemaMissingError`, `DatabaseUnreachableError` or `StatementFailedError` when Postgres does.

    Args:
        connection: to the database.
        actor: who changes something.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, actor: Actor = A_PROGRAM) -> None:
        self._connection = connection
        self._actor = actor

    def list(self, query: DeadLetterQuery, *, limit: int, cursor: str | None = None) -> DeadLetterPage:
        """Return a page of at most `limit` (from 1 on) letters; `cursor` is the page before's `next_cursor`.

        Raises:
            CursorInvalidError: the cursor is none.
        """
        statement, values = letters_statement(query, limit=limit, cursor=cursor)
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            rows.execute(statement, values)
            found = tuple(DeadLetter(**in_utc(row)) for row in rows)
        more = len(found) > limit
        page = found[:limit]
        return DeadLetterPage(letters=page, next_cursor=str(page[-1].id) if more else None)

    def get(self, letter_id: str) -> DeadLetter:
        """Return one.

        Raises:
            DeadLetterNotFoundError: there is none of this id, or no longer.
        """
        wanted = read_id(letter_id)
        if wanted is None:
            raise DeadLetterNotFoundError(letter_id)
        page = self.list(DeadLetterQuery(ids=(wanted[1],)), limit=1)
        if not page.letters:
            raise DeadLetterNotFoundError(letter_id)
        return page.letters[0]

    def first_error(self, letter: DeadLetter) -> FirstError | None:
        """Return its first failure; None where the delivery log has none: of a whole record, or no longer."""
        if letter.event_id is None or letter.target is None or letter.created_at is None:
            return None
        values = {
            "created_at": letter.created_at,
            "delivery_id": delivery_id(
                event_id=letter.event_id,
                target=letter.target,
                created_at_ms=epoch_ms(letter.created_at),
            ),
            "replay_id": letter.died_in_replay_id or "",
        }
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            row = rows.execute(_FIRST_ERROR, values).fetchone()
        if row is None:
            return None
        return FirstError(**in_utc(row))

    def groups(self, query: DeadLetterQuery) -> tuple[LetterGroup, ...]:
        """Count those that a query finds, by class, code and target; the most frequent first."""
        found, values = chosen_letters(query)
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            rows.execute(_with(_GROUPS, found), values)
            return tuple(LetterGroup(**row) for row in rows)

    def discard(self, query: DeadLetterQuery) -> int:
        """Put those aside that a query finds and that are open; return how many. Their records stay in Kafka."""
        found, values = chosen_letters(query, "status = 'open'")
        with statement_errors(), self._connection.transaction(), self._cursor() as rows:
            rows.execute(_with(_DISCARD, found), {**values, "actor": self._actor.name})
            discarded = rows.rowcount
            if discarded:
                AuditLog(self._connection).add(self._actor, "dead_letters.discarded", endpoint_id=None)
        return discarded

    def _cursor(self) -> psycopg.Cursor[dict[str, Any]]:
        return psycopg.Cursor(self._connection, row_factory=dict_row)


def letters_statement(
    query: DeadLetterQuery, *, limit: int, cursor: str | None
) -> tuple[LiteralString, dict[str, object]]:
    """The statement for a page, and its values. It asks for one letter more than the page has: are there any?

    Raises:
        CursorInvalidError: the cursor is none.
    """
    conditions = [*_conditions(query)]
    values = {**_values(query), "limit": limit + 1}
    if cursor is not None:
        # The first half says nothing new, but Postgres passes over newer partitions by it.
        conditions.append("died_at <= %(after)s and (died_at, id) < (%(after)s, %(after_id)s)")
        values |= after(cursor)
    return _SELECT + where(conditions) + _NEWEST_FIRST, values


def chosen_letters(query: DeadLetterQuery, *also: LiteralString) -> tuple[LiteralString, dict[str, object]]:
    """The `where` of a statement about the letters that a query finds, and its values; `also` narrows it further."""
    return where([*_conditions(query), *also]), _values(query)


def _with(statement: LiteralString, conditions: LiteralString) -> LiteralString:
    return statement.replace("{where}", conditions)


def _values(query: DeadLetterQuery) -> dict[str, object]:
    ids = [wanted for wanted in query.ids or () if created_at_of(wanted) is not None]
    return {
        "ids": ids,
        "moments": [created_at_of(wanted) for wanted in ids],
        "codes": sorted(query.codes),
        "class": query.letter_class,
        "target": query.target,
        "event_type": query.event_type,
        "event_id": query.event_id,
        "statuses": sorted(query.statuses),
        "since": query.since,
        "until": query.until,
    }


def _conditions(query: DeadLetterQuery) -> Iterator[LiteralString]:
    if query.ids is not None:
        yield "died_at = any(%(moments)s) and id = any(%(ids)s)"
    if query.codes:
        yield "code = any(%(codes)s)"
    if query.letter_class is not None:
        yield "class = %(class)s"
    if query.target is not None:
        yield "target = %(target)s"
    if query.event_type is not None:
        yield "event_type = %(event_type)s"
    if query.event_id is not None:
        yield "event_id = %(event_id)s"
    if query.statuses:
        # Spelt out for one: the index of those that are open is made for it.
        yield "status = 'open'" if query.statuses == {"open"} else "status = any(%(statuses)s)"
    if query.since is not None:
        yield "died_at >= %(since)s"
    if query.until is not None:
        yield "died_at < %(until)s"
