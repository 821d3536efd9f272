"""The dead letters in Postgres: written once a place, asked for, put aside, and given to one redrive."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from connectors.postgres.audit import Actor, AuditLog
from connectors.postgres.connection import connect
from connectors.postgres.dead_letter import DeadLetter, DeadLetterQuery, DeadLetterRow
from connectors.postgres.dead_letter_writer import DeadLetterWriter
from connectors.postgres.dead_letters import DeadLetters, LetterGroup
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import (
    CursorInvalidError,
    DeadLetterNotFoundError,
    IdempotencyKeyReusedError,
    NothingToRedriveError,
    PoisonRefusedError,
)
from connectors.postgres.redrives import Poison, Redriven, RedriveStore
from connectors.postgres.replays import ReplayStore
from streams.recorder.fold import fold
from tests.support.attempt_records import CREATED_AT_MS, an_entry
from tests.support.dead_letters import DIED_AT_MS, a_row, rows_of, store_rows

ALL = DeadLetterQuery()
SAM = Actor(name="cli:sam")
DAY_MS = 86_400_000


@pytest.fixture
def url(outbox_database_url: str) -> Iterator[str]:
    yield outbox_database_url
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute(
            "truncate outbox.dead_letters, outbox.replays, outbox.audit, outbox.deliveries, outbox.attempts"
        )


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with connect(url) as connection:
        connection.autocommit = True
        yield connection


@pytest.fixture
def letters(connection: psycopg.Connection[Any]) -> DeadLetters:
    return DeadLetters(connection, actor=SAM)


def listed(letters: DeadLetters, query: DeadLetterQuery = ALL) -> list[DeadLetter]:
    return list(letters.list(query, limit=1_000).letters)


def ids(*rows: DeadLetterRow) -> DeadLetterQuery:
    return DeadLetterQuery(ids=tuple(UUID(row.id) for row in rows))


def redrive(
    connection: psycopg.Connection[Any],
    query: DeadLetterQuery,
    *,
    poison: Poison = "refuse",
    key: str | None = None,
    actor: Actor = SAM,
) -> Redriven:
    selection = {"ids": sorted(map(str, query.ids or ()))}
    return RedriveStore(connection).request(
        query, poison=poison, rate_per_s=10, selection=selection, actor=actor, idempotency_key=key
    )


def test_a_record_that_is_read_again_changes_nothing(
    url: str, connection: psycopg.Connection[Any], letters: DeadLetters
) -> None:
    """By its place: not the row, nor what somebody has done with it meanwhile."""
    rows = [a_row(number) for number in range(5)]
    store_rows(url, *rows)
    letters.discard(ids(rows[0]))
    redrive(connection, ids(rows[1]))
    before = rows_of(url)
    store_rows(url, *reversed(rows), *rows, a_row(2, error="read otherwise"))
    assert rows_of(url) == before
    assert [row["status"] for row in before] == ["discarded", "redriven", "open", "open", "open"]


def test_a_topic_that_was_made_anew_has_letters_of_its_own(url: str) -> None:
    """Its offsets begin at 0 again: another time makes it another letter."""
    store_rows(url, a_row(0), a_row(0, died_at_ms=DIED_AT_MS + 60_000, error="another"))
    assert [row["error"] for row in rows_of(url)] == ["answered 404", "another"]


def test_a_letter_is_read_as_it_was_written(url: str, letters: DeadLetters) -> None:
    """Every field, with times in UTC whatever the session's zone is."""
    row = a_row(7, died_in_replay_id="r1")
    store_rows(url, row)
    letters._connection.execute("set timezone to 'Asia/Tokyo'")
    assert letters.get(row.id) == DeadLetter(
        id=UUID(row.id),
        place="3/7",
        letter_class="undelivered",
        code="ENDPOINT_REJECTED",
        error="answered 404",
        event_id=UUID(int=8),
        event_type="order.created",
        target="endpoint:ep_1",
        attempts=3,
        origin="outbox.events/3/1000",
        created_at=datetime(2026, 3, 1, 12, 30, 0, 123_000, tzinfo=UTC),
        first_failed_at=datetime(2026, 3, 1, 12, 30, 1, tzinfo=UTC),
        died_at=row.died_at,
        died_in_replay_id="r1",
        status="open",
        changed_at=None,
        changed_by=None,
        replay_id=None,
    )
    assert letters.get(row.id).died_at.tzinfo is UTC


@pytest.mark.parametrize("letter_id", ["", "7", "3/17", str(UUID(int=7)), a_row(99).id])
def test_a_letter_that_is_not_there_is_not_found(letters: DeadLetters, letter_id: str) -> None:
    """Whether it is no id, an id of something else, or one that is gone."""
    with pytest.raises(DeadLetterNotFoundError):
        letters.get(letter_id)


SOME = {
    "refused": a_row(0),
    "spent": a_row(1, code="ENDPOINT_EXHAUSTED", target="endpoint:ep_2", died_at_ms=DIED_AT_MS + DAY_MS),
    "unwanted": a_row(2, code="HANDLER_NOT_REGISTERED", target=None, event_type="user.left", attempts=0),
    "poison": a_row(3, code="EVENT_MALFORMED", letter_class="poison", event_id=None, target=None),
}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (ALL, {"refused", "spent", "unwanted", "poison"}),
        (DeadLetterQuery(codes=frozenset({"ENDPOINT_EXHAUSTED", "EVENT_MALFORMED"})), {"spent", "poison"}),
        (DeadLetterQuery(letter_class="poison"), {"poison"}),
        (DeadLetterQuery(letter_class="undelivered"), {"refused", "spent", "unwanted"}),
        (DeadLetterQuery(target="endpoint:ep_1"), {"refused"}),
        (DeadLetterQuery(event_type="user.left"), {"unwanted"}),
        (DeadLetterQuery(event_id=UUID(int=2)), {"spent"}),
        (DeadLetterQuery(since=SOME["spent"].died_at), {"spent"}),
        (DeadLetterQuery(until=SOME["spent"].died_at), {"refused", "unwanted", "poison"}),
        (DeadLetterQuery(statuses=frozenset({"open"})), {"spent", "unwanted", "poison"}),
        (DeadLetterQuery(statuses=frozenset({"discarded", "redriven"})), {"refused"}),
        (ids(SOME["spent"], SOME["poison"]), {"spent", "poison"}),
        (DeadLetterQuery(ids=()), set()),
        (DeadLetterQuery(ids=(UUID(int=5),)), set()),
    ],
)
def test_a_query_finds_those_and_no_others(
    url: str, letters: DeadLetters, query: DeadLetterQuery, names: set[str]
) -> None:
    """CASES 17: by class above all, so that what can't be read and what a customer refused are two lists."""
    store_rows(url, *SOME.values())
    letters.discard(ids(SOME["refused"]))
    found = {str(letter.id) for letter in listed(letters, query)}
    assert {name for name, row in SOME.items() if row.id in found} == names
    assert sum(group.number for group in letters.groups(query)) == len(names)


def test_they_are_counted_by_class_code_and_target(url: str, letters: DeadLetters) -> None:
    """What a dry run shows: the most frequent first."""
    store_rows(url, *SOME.values(), a_row(9))
    assert letters.groups(ALL)[:2] == (
        LetterGroup(number=2, letter_class="undelivered", code="ENDPOINT_REJECTED", target="endpoint:ep_1"),
        LetterGroup(number=1, letter_class="poison", code="EVENT_MALFORMED", target=None),
    )


def test_pages_have_no_gaps_and_no_repeats_while_others_die(url: str, letters: DeadLetters) -> None:
    """Over days and with equal times: each that was there is on one page, newest first."""
    there = [a_row(number, died_at_ms=DIED_AT_MS + number // 2 * (DAY_MS // 4)) for number in range(25)]
    store_rows(url, *there)
    seen: list[str] = []
    page = letters.list(ALL, limit=4)
    for number in range(100):
        seen += [str(letter.id) for letter in page.letters]
        if page.next_cursor is None:
            break
        store_rows(url, a_row(1_000 + number, died_at_ms=DIED_AT_MS + (number - 3) * DAY_MS))
        page = letters.list(ALL, limit=4, cursor=page.next_cursor)
    known = {row.id for row in there}
    assert len(seen) == len(set(seen))
    assert [one for one in seen if one in known] == sorted(known, reverse=True)
    for cursor in ("x", "3/17", str(UUID(int=1))):
        with pytest.raises(CursorInvalidError):
            letters.list(ALL, limit=1, cursor=cursor)


def test_the_first_error_is_the_delivery_logs(url: str, letters: DeadLetters) -> None:
    """Of the replay in which it died: not a deferral, nor an earlier life's; nothing where the log has none."""
    event_id = UUID(int=1)
    common: dict[str, Any] = {"event_id": str(event_id), "target": "endpoint:ep_1"}
    turns = [
        an_entry("deferred", **common, attempt_id=str(UUID(int=1)), started_at_ms=CREATED_AT_MS + 1),
        an_entry(
            "retried", **common, attempt_id=str(UUID(int=2)), error="first", started_at_ms=CREATED_AT_MS + 2
        ),
        an_entry(
            "rejected", **common, attempt_id=str(UUID(int=3)), error="last", started_at_ms=CREATED_AT_MS + 3
        ),
        an_entry("rejected", **common, attempt_id=str(UUID(int=4)), error="replayed", replay_id="r1"),
    ]
    writer = DeliveryLogWriter(url)
    writer.write([turn.attempt for turn in turns], fold(turns))
    writer.close()
    created_at = turns[0].attempt.created_at
    rows = [
        a_row(0, created_at=created_at),
        a_row(1, created_at=created_at, event_id=str(event_id), died_in_replay_id="r1"),
        a_row(2, created_at=created_at, target=None),
        a_row(3, created_at=created_at, event_id=str(UUID(int=77))),
    ]
    store_rows(url, *rows)
    found = [letters.first_error(letters.get(row.id)) for row in rows]
    assert [None if first is None else first.error for first in found] == ["first", "replayed", None, None]
    assert str(found[0].delivery_id) == turns[0].delivery.id  # type: ignore[union-attr]


def test_what_is_discarded_is_not_redriven(
    url: str, connection: psycopg.Connection[Any], letters: DeadLetters
) -> None:
    """Nor the other way round; each says who did it and when, and the audit table has it, without a letter's words."""
    discarded, redriven = a_row(0), a_row(1)
    store_rows(url, discarded, redriven)
    assert letters.discard(ids(discarded)) == 1
    replay = redrive(connection, ids(redriven)).replay
    assert letters.discard(ids(discarded, redriven)) == 0
    with pytest.raises(NothingToRedriveError):
        redrive(connection, ids(discarded, redriven))
    rows = rows_of(url)
    assert [(row["status"], row["changed_by"], row["replay_id"]) for row in rows] == [
        ("discarded", "cli:sam", None),
        ("redriven", "cli:sam", replay.id),
    ]
    assert all(row["changed_at"] is not None for row in rows)
    entries = AuditLog(connection).page(limit=10)
    assert [(entry.actor, entry.action, entry.fields) for entry in entries] == [
        ("cli:sam", "redrive.requested", ()),
        ("cli:sam", "dead_letters.discarded", ()),
    ]


def test_of_many_redrives_at_once_one_gets_each_letter(url: str) -> None:
    """From eight terminals, in either order and overlapping: every letter is given to one replay, once."""
    rows = [a_row(number, died_at_ms=DIED_AT_MS + number % 3 * DAY_MS) for number in range(90)]
    store_rows(url, *rows)

    def ask(number: int) -> int:
        chosen = rows[number * 5 : number * 5 + 55]
        with connect(url) as connection:
            connection.autocommit = True
            try:
                return redrive(connection, ids(*(chosen if number % 2 else chosen[::-1]))).letters
            except NothingToRedriveError:
                return 0

    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(ask, range(8)))
    assert sum(given) == 90
    stored = rows_of(url)
    assert {row["status"] for row in stored} == {"redriven"}
    with connect(url) as connection:
        made = ReplayStore(connection, actor=SAM).page(limit=100)
    by_replay = {replay.id: sum(row["replay_id"] == replay.id for row in stored) for replay in made}
    assert sorted(by_replay.values()) == sorted(number for number in given if number)


def test_a_request_that_is_repeated_with_its_key_is_one_redrive(
    url: str, connection: psycopg.Connection[Any]
) -> None:
    """The same replay, and the same number of letters; another request with the key is refused."""
    store_rows(url, a_row(0), a_row(1), a_row(2))
    first = redrive(connection, ids(a_row(0), a_row(1)), key="k")
    again = redrive(connection, ids(a_row(0), a_row(1)), key="k")
    assert (again.replay.id, again.letters) == (first.replay.id, 2)
    with pytest.raises(IdempotencyKeyReusedError):
        redrive(connection, ids(a_row(2)), key="k")
    other = redrive(connection, ids(a_row(2)), key="k", actor=Actor(name="other"))
    assert other.replay.id > first.replay.id


def test_poison_is_refused_left_or_taken_as_is_asked(url: str, connection: psycopg.Connection[Any]) -> None:
    """As it is, it would die again; who names it is told so, and nothing is done."""
    healthy, poison = a_row(0), a_row(1, letter_class="poison", code="EVENT_MALFORMED")
    store_rows(url, healthy, poison)
    with pytest.raises(PoisonRefusedError, match="1 of these"):
        redrive(connection, ids(healthy, poison))
    assert {row["status"] for row in rows_of(url)} == {"open"}
    assert not ReplayStore(connection, actor=SAM).page(limit=1)
    assert redrive(connection, ALL, poison="leave").letters == 1
    assert [row["status"] for row in rows_of(url)] == ["redriven", "open"]
    assert redrive(connection, ids(poison), poison="include").letters == 1


def test_a_redrives_letters_are_given_in_the_order_of_their_places(
    url: str, connection: psycopg.Connection[Any]
) -> None:
    """Partition by partition, from an offset on; those that are opened again are no part of it any more."""
    rows = [a_row(number, place_partition=number % 2) for number in range(10)]
    store_rows(url, *rows)
    store = RedriveStore(connection)
    replay_id = redrive(connection, ALL).replay.id
    assert store.ranges(replay_id) == {0: (0, 9, 5), 1: (1, 10, 5)}
    given = store.given(replay_id, partition=1, least=3, end=9, most=10)
    assert [(letter.partition, letter.offset) for letter in given] == [(1, 3), (1, 5), (1, 7)]
    store.reopen(replay_id, [given[0].id, UUID(rows[0].id)])
    store.reopen("another", [given[1].id])
    assert store.ranges(replay_id) == {0: (2, 9, 4), 1: (1, 10, 4)}
    reopened = [row["place_offset"] for row in rows_of(url) if row["status"] == "open"]
    assert reopened == [0, 3]
    assert redrive(connection, ALL).letters == 2


def test_days_that_are_over_are_dropped_whole(url: str) -> None:
    """CASES 43: no row is deleted; the delivery log's days are another matter."""
    first = date(2026, 2, 2)
    store_rows(url, *(a_row(number, died_at_ms=DIED_AT_MS + number * DAY_MS) for number in range(4)))
    log = DeliveryLogWriter(url)
    log.make_days([first])
    log.close()
    writer = DeadLetterWriter(url)
    dropped = writer.drop_days_before(first + timedelta(days=2))
    assert {"dead_letters_20260202", "dead_letters_20260203"} <= set(dropped)
    assert max(dropped) == "dead_letters_20260203"
    assert len(rows_of(url)) == 2
    with psycopg.connect(url) as connection:
        deleted = connection.execute(
            "select coalesce(sum(n_tup_del), 0) from pg_stat_user_tables where relname like 'dead_letters%'"
        ).fetchone()
        kept = connection.execute("select to_regclass('outbox.attempts_20260202') is not null").fetchone()
    assert (deleted, kept) == ((0,), (True,))
    writer.write([a_row(0)])  # a record that is read again: its day is made anew
    writer.close()
    assert len(rows_of(url)) == 3
