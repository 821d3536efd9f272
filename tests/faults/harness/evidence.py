"""Gathering the evidence of a run that has ended: from Postgres, from Kafka, from the journals, from the logs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import orjson
import psycopg

from streams import topics
from tests.faults.harness.facts import Delivery, Evidence, Fault, Letter, Logged, Place, Row, Turn, Waiting
from tests.faults.harness.journal import JournalReader
from tests.faults.harness.plan import prefix_of
from tests.faults.harness.site import Site
from tests.support.marks import PAYLOAD_MARK, SECRET_MARK, URL_MARK
from tests.support.topics import Record, TopicTail

__all__ = ["gather"]

_ROWS = """
    select id::text, type, encode(sha256(convert_to(payload, 'UTF8')), 'hex'), extract(epoch from created_at) * 1000
    from outbox.outbox where channel = 'events' and type like %s
"""
_LOGGED_ATTEMPTS = """
    select a.id::text from outbox.attempts a
    join outbox.deliveries d on d.created_at = a.created_at and d.id = a.delivery_id where d.event_type like %s
"""
_LOGGED_DELIVERIES = "select event_id::text, target, status from outbox.deliveries where event_type like %s"
_MARKS = (PAYLOAD_MARK, URL_MARK, SECRET_MARK)


def gather(site: Site, faults: Sequence[Fault], *, flowed_ms: float, ended_ms: float) -> Evidence:
    """Everything that the judge needs. All processes of the run have ended, so nothing moves any more.

    Args:
        site: where it ran.
        faults: what was done to it.
        flowed_ms: when all was normal for the first time.
        ended_ms: when the first process was told to end.
    """
    since_ms = site.began_ms - 1_000
    rows = _rows(site)
    ids = {row.event_id for row in rows}
    places = [place for topic in _read(site) for place in _places(site, topic, ids)]
    receipts = [receipt for journal in site.journals for receipt in JournalReader(journal).read()]
    letters = [record for record in _records(site, topics.DEAD_LETTER) if record.appended_at_ms >= since_ms]
    return Evidence(
        rows=rows,
        receipts=receipts,
        turns=[turn for record in _records(site, topics.ATTEMPTS) if (turn := _turn(record)).event_id in ids],
        logged=_logged(site),
        letters=[
            Letter(
                event_id=record.event_id,
                target=record.headers.get("outbox-target"),
                code=record.headers.get("outbox-error-code", ""),
                appended_ms=record.appended_at_ms,
            )
            for record in letters
        ],
        waiting=[waiting for waiting in _waiting(site) if waiting.event_id in ids],
        places=places,
        faults=faults,
        flowed_ms=flowed_ms,
        ended_ms=ended_ms,
        workers_started=sum(m.started for name, m in site.fleet.members.items() if name.startswith("worker")),
        leaks={log.name: _leaks(log.read_text(errors="replace")) for log in site.logs.glob("*.log")},
        deaths=tuple(site.fleet.deaths),
    )


def _rows(site: Site) -> list[Row]:
    with psycopg.connect(site.ground.stack.postgres.url) as connection:
        found = connection.execute(_ROWS, [f"{prefix_of(site.run)}.%"]).fetchall()
    return [
        Row(event_id=event_id, type=event_type, sha256=sha256, created_ms=float(created_ms))
        for event_id, event_type, sha256, created_ms in found
    ]


def _logged(site: Site) -> Logged:
    of_run = [f"{prefix_of(site.run)}.%"]
    statuses: dict[Delivery, list[str]] = defaultdict(list)
    with psycopg.connect(site.ground.stack.postgres.url) as connection:
        attempts = Counter(found for (found,) in connection.execute(_LOGGED_ATTEMPTS, of_run))
        for event_id, target, status in connection.execute(_LOGGED_DELIVERIES, of_run):
            statuses[event_id, target].append(status)
    return Logged(attempts=attempts, statuses=statuses)


def _records(site: Site, topic: str) -> Sequence[Record]:
    tail = TopicTail(site.kafka, topic, from_beginning=True)
    try:
        return tail.to_the_end()
    finally:
        tail.close()


def _places(site: Site, topic: str, ids: set[str]) -> Iterator[Place]:
    for record in _records(site, topic):
        if record.event_id in ids:
            yield _place(record)


def _read(site: Site) -> tuple[str, ...]:
    """The topics that processes of ours read with a group."""
    return topics.EVENTS, topics.REDELIVERY, *site.ground.retry_topics


def _place(record: Record) -> Place:
    return Place(
        event_id=record.event_id,
        target=record.headers.get("outbox-target"),
        partition=(record.topic, record.partition),
        offset=record.offset,
        appended_ms=record.appended_at_ms,
        due_ms=_due_ms(record),
    )


def _due_ms(record: Record) -> float | None:
    due = record.headers.get("outbox-due-at") if record.topic.startswith("outbox.retry-") else None
    return float(due) if due else None


def _waiting(site: Site) -> Iterator[Waiting]:
    """What lies in a topic for whoever reads it next: what no commit of its group covers."""
    open_to = (site.commits("worker"), site.commits("scheduler"))
    for name in _read(site):
        for record in _records(site, name):
            if any(commits.leave_open(_place(record)) for commits in open_to):
                yield Waiting(
                    event_id=record.event_id,
                    target=record.headers.get("outbox-target"),
                    topic=name,
                    appended_ms=record.appended_at_ms,
                    due_ms=_due_ms(record),
                )


def _turn(record: Record) -> Turn:
    told = orjson.loads(record.value or b"{}")
    return Turn(
        attempt_id=told["attempt_id"],
        event_id=told["event_id"],
        target=told["target"],
        attempt=told["attempt"],
        deferrals=told["deferrals"],
        outcome=told["outcome"],
        started_ms=told["started_at_ms"],
        ended_ms=told["started_at_ms"] + told["duration_ms"],
        next_ms=told.get("next_attempt_at_ms"),
        recorded_ms=record.appended_at_ms,
        status=told.get("status"),
        buried=told["next"] == "dead-letter",
    )


def _leaks(text: str) -> list[str]:
    return [mark for mark in _MARKS if mark in text]
