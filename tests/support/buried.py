"""Dead letters of one endpoint, put on the topic as a worker buries them, and how they stand in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg

from connectors.postgres.audit import Actor
from connectors.postgres.dead_letter import DeadLetterQuery
from connectors.postgres.redrives import RedriveStore
from streams import topics
from streams.records.delivery import Delivery, Origin
from streams.records.target import TargetName
from tests.support.dead_letters import letter_record
from tests.support.deliveries import NOW_MS, an_event
from tests.support.eventually import eventually
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail, produce

__all__ = ["Buried", "bury", "letters_where", "sent_by", "slow_redrive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Buried:
    """Events in the order in which they were buried, and the ids of their dead letters."""

    events: Sequence[UUID]
    letters: Sequence[str]


def letters_where(pipeline: Pipeline, condition: str, *values: object) -> list[dict[str, Any]]:
    """The rows that this holds of, oldest first."""
    with psycopg.connect(pipeline.installation.database_url, row_factory=psycopg.rows.dict_row) as connection:
        return connection.execute(
            f"select * from outbox.dead_letters where {condition} order by died_at, id",  # noqa: S608
            values,
        ).fetchall()


def bury(pipeline: Pipeline, mailbox: Mailbox, count: int) -> Buried:
    """Bury so many deliveries to an endpoint, each of an event of its own, and wait until the recorder has them."""
    deliveries = [
        Delivery(
            event=an_event(id=uuid4(), type=mailbox.event_type, aggregate_id=str(number)),
            target=TargetName("endpoint", mailbox.id),
            origin=Origin(topics.EVENTS, number % 6, number),
            attempt=3,
            deferrals=2,
            first_failed_at_ms=NOW_MS,
        )
        for number in range(count)
    ]
    produce(pipeline.kafka, [letter_record(delivery) for delivery in deliveries])
    target = f"endpoint:{mailbox.id}"

    def rows() -> list[dict[str, Any]] | None:
        found = letters_where(pipeline, "target = %s", target)
        return found if len(found) == count else None

    by_event = {row["event_id"]: str(row["id"]) for row in eventually(rows, what=f"{count} dead letters")}
    events = [delivery.event.id for delivery in deliveries]
    return Buried(events=events, letters=[by_event[event_id] for event_id in events])


def sent_by(tail: TopicTail, *replay_ids: str) -> list[str]:
    """The events that redrives have put on `outbox.redelivery`, repeated ones repeated."""
    return [
        record.event_id
        for record in tail.to_the_end()
        if record.headers.get("outbox-replay-id") in replay_ids and record.headers["outbox-attempt"] == "1"
    ]


def slow_redrive(pipeline: Pipeline, letters: Sequence[str], *, rate_per_s: float) -> str:
    """Ask as the command line does, with a rate, and give the replay's id; an API's replayer executes it."""
    with psycopg.connect(pipeline.installation.database_url) as connection:
        redriven = RedriveStore(connection).request(
            DeadLetterQuery(ids=tuple(map(UUID, letters))),
            poison="refuse",
            rate_per_s=rate_per_s,
            selection={},
            actor=Actor(name="tests"),
        )
    return redriven.replay.id
