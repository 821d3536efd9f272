"""Replays against a real Postgres: asked for once, executed by one, and how many deliveries stand in the log."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from connectors.postgres.audit import Actor
from connectors.postgres.connection import connect
from connectors.postgres.delivery_id import created_at_of
from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.delivery_statuses import statuses_of
from connectors.postgres.errors import DatabaseUnreachableError, IdempotencyKeyReusedError
from connectors.postgres.replay_claim import ReplayClaim, ReplayClaims
from connectors.postgres.replays import ReplayStore
from connectors.postgres.stored_replay import NewReplay, Replay, ReplayKind
from streams.recorder.fold import fold
from tests.support.attempt_records import CREATED_AT_MS, an_entry
from tests.support.eventually import eventually

ACTOR = Actor(name="tests")
KINDS: tuple[ReplayKind, ...] = ("resend", "recovery")
RECOVERIES: tuple[ReplayKind, ...] = ("recovery",)


@pytest.fixture
def url(outbox_database_url: str) -> Iterator[str]:
    yield outbox_database_url
    with psycopg.connect(outbox_database_url) as connection:
        connection.execute("truncate outbox.replays, outbox.deliveries, outbox.attempts, outbox.audit")


@pytest.fixture
def two(url: str) -> Iterator[tuple[ReplayClaims, ReplayClaims]]:
    """Two processes that look for replays."""
    found = ReplayClaims(url), ReplayClaims(url)
    yield found
    for claims in found:
        claims.close()


def asked(
    url: str, *, key: str | None = None, target: str = "endpoint:ep_1", kind: ReplayKind = "recovery"
) -> Replay:
    new = NewReplay(kind=kind, target=target, selection={"since": "now"}, rate_per_s=5.0)
    with connect(url) as connection:
        return ReplayStore(connection, actor=ACTOR).request(new, idempotency_key=key)


def test_a_key_makes_one_replay_however_often_and_at_once(url: str) -> None:
    """And one audit entry. Another actor's key is another; another request with it is refused."""
    with ThreadPoolExecutor(8) as pool:
        replays = list(pool.map(lambda _: asked(url, key="k"), range(16)))
    assert len({replay.id for replay in replays}) == 1
    with psycopg.connect(url) as connection:
        entries = connection.execute("select actor, action from outbox.audit").fetchall()
    assert entries == [("tests", "recovery.requested")]
    with pytest.raises(IdempotencyKeyReusedError):
        asked(url, key="k", target="endpoint:ep_2")
    assert asked(url).id != asked(url).id


def test_later_replays_have_greater_ids_whatever_the_clock_says(url: str) -> None:
    """The delivery log shows the greatest: a clock that is behind must not hide a resend."""
    far = "fff00000-0000-7000-8000-000000000000"
    asked(url)
    with psycopg.connect(url) as connection:
        connection.execute("update outbox.replays set id = %s", [far])
    first, second = asked(url), asked(url)
    assert far < first.id < second.id


# A session's locks are gone when Postgres has heard of its end, which is a moment after it: hence both of these.
def claimed(claims: ReplayClaims, replay_id: str | None = None) -> ReplayClaim:
    return eventually(lambda: claims.claim(KINDS, replay_id=replay_id), what="a claim")


def comes_to(claims: ReplayClaims, replay_id: str) -> None:
    def has_its_turn() -> bool:
        with claimed(claims) as claim:
            return claim.replay().id == replay_id

    eventually(has_its_turn, what=f"the turn of {replay_id}")


def test_one_executes_a_replay_until_its_session_ends(
    url: str, two: tuple[ReplayClaims, ReplayClaims]
) -> None:
    """However it ends: a process that is killed leaves nothing locked. One that has ended is nobody's."""
    replay = asked(url)
    first, second = two
    claim = claimed(first)
    assert second.claim(RECOVERIES) is None
    claim.start(begins={0: 1}, ends={0: 9}, sent_from={0: 4}, to_read=8, warning=None)
    claim.advance(read=3, sent=2, skipped=1, next_offsets={0: 4}, sent_from={0: 6})
    with psycopg.connect(url) as connection:
        connection.execute("select pg_terminate_backend(%s)", [claim.connection.info.backend_pid])
    with pytest.raises(DatabaseUnreachableError):
        claim.replay()
    claim.close()
    taken = claimed(second)
    found = taken.replay()
    assert found.id == replay.id
    assert (found.status, found.next_offsets, found.end_offsets, found.sent_offsets) == (
        "running",
        {0: 4},
        {0: 9},
        {0: 6},
    )
    assert (found.events_read, found.events_to_read, found.sent, found.skipped) == (3, 8, 2, 1)
    taken.end("done")
    taken.close()
    assert first.claim(RECOVERIES) is None


def test_two_recoveries_of_one_target_never_run_at_once(
    url: str, two: tuple[ReplayClaims, ReplayClaims]
) -> None:
    """What one has sent is not in the log yet when the other looks there. Those of others, and resends, go on."""
    older, younger = asked(url), asked(url)
    first, second = two
    claim = claimed(first)
    assert claim.replay().id == older.id
    assert second.claim(RECOVERIES) is None
    other = asked(url, target="endpoint:ep_2")
    resend = asked(url, kind="resend")
    with claimed(second) as another:
        assert another.replay().id == other.id
    with claimed(second, resend.id) as another:
        assert another.replay().id == resend.id
    claim.end("done")
    claim.close()
    comes_to(second, younger.id)


def test_many_recoveries_of_one_target_hide_nothing(url: str, two: tuple[ReplayClaims, ReplayClaims]) -> None:
    """One of them at a time is looked at, the running one first, however many were asked for before others."""
    recoveries = [asked(url) for _ in range(101)]
    other = asked(url, target="endpoint:ep_2")
    first, second = two
    with claimed(first, recoveries[7].id) as claim:
        claim.start(begins={}, ends={}, sent_from={}, to_read=9, warning=None)
        with claimed(second) as another:
            assert another.replay().id == other.id
    comes_to(second, recoveries[7].id)


def test_what_came_back_stands_behind_the_others(url: str, two: tuple[ReplayClaims, ReplayClaims]) -> None:
    """In the order in which it came back; what is put off is not claimed at all, nor another in its place."""
    ids = [asked(url, target=f"endpoint:ep_{number}").id for number in range(3)]
    asked(url, target="endpoint:ep_0")
    claims = two[0]

    def whose_turn(put_off: list[str], came_back: list[str]) -> str | None:
        claim = claims.claim(KINDS, put_off=put_off, came_back=came_back)
        if claim is None:
            return None
        with claim:
            return claim.replay_id

    assert whose_turn([], [ids[1], ids[0]]) == ids[2]
    assert whose_turn([ids[2]], [ids[1], ids[0]]) == ids[1]
    assert whose_turn(ids, ids) is None


def test_what_others_have_recovered_shows(url: str, two: tuple[ReplayClaims, ReplayClaims]) -> None:
    """A recovery whose turn comes later must not trust what it noted before another of its target has sent."""
    asked(url)
    with claimed(two[0]) as claim:
        seen = [claim.recovered_so_far("endpoint:ep_1"), claim.recovered_so_far("endpoint:ep_1")]
        assert seen[0] == seen[1]
        claim.start(begins={}, ends={}, sent_from={}, to_read=9, warning=None)
        seen.append(claim.recovered_so_far("endpoint:ep_1"))
        claim.advance(read=1, sent=1, skipped=0, next_offsets={}, sent_from={})
        seen.append(claim.recovered_so_far("endpoint:ep_1"))
    assert len(set(seen)) == 3


def test_one_that_was_stopped_stays_so(url: str, two: tuple[ReplayClaims, ReplayClaims]) -> None:
    """Who executes it may count what it has sent, and can't end it otherwise."""
    replay = asked(url)
    with claimed(two[0]) as claim:
        claim.start(begins={}, ends={}, sent_from={}, to_read=9, warning=None)
        with connect(url) as connection:
            ReplayStore(connection, actor=ACTOR).stop(replay.id)
        claim.advance(read=0, sent=2, skipped=0, next_offsets={}, sent_from={})
        claim.end("done")
        found = claim.replay()
    assert (found.status, found.sent, found.waits_for) == ("stopped", 2, None)


def test_the_log_says_of_many_deliveries_how_they_stand(url: str) -> None:
    """By one question, over days; those that it doesn't have are left out."""
    day_ms = round(timedelta(days=1).total_seconds() * 1000)
    entries = [
        an_entry(
            kind,
            event_id=str(UUID(int=number)),
            attempt_id=str(uuid4()),
            event_created_at_ms=CREATED_AT_MS + number * day_ms,
        )
        for number, kind in enumerate(("succeeded", "retried", "rejected"), start=1)
    ]
    writer = DeliveryLogWriter(url)
    writer.write([entry.attempt for entry in entries], fold(entries))
    writer.close()
    wanted = [(entry.delivery.created_at, UUID(entry.delivery.id)) for entry in entries]
    unknown = UUID(int=(CREATED_AT_MS + day_ms) << 80 | 0x8 << 76 | 0b10 << 62)
    at = created_at_of(unknown)
    assert at is not None
    with connect(url) as connection:
        found = statuses_of(connection, [*wanted, (at, unknown)])
        assert statuses_of(connection, []) == {}
    assert found == {
        identifier: entry.delivery.status for (_, identifier), entry in zip(wanted, entries, strict=True)
    }
