"""Stop the workers, reset, start them: all of the range again, to whoever wants it, and nothing else (CASES 36)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from connectors.postgres.audit import AuditLog
from streams import topics
from streams.reset.look import NOBODY
from tests.support.answers import respond
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.group import SCHEDULERS, WORKERS, wait_until_empty
from tests.support.kafka_tool import KafkaTool
from tests.support.parked import LANES
from tests.support.pipeline import Pipeline
from tests.support.topics import committed, topic_ends

HANDLERS = "tests.support.scripted_handlers"


def reset(pipeline: Pipeline, *arguments: str) -> Child:
    """The command as somebody calls it, with a database for its audit entry."""
    return pipeline.start("replay", "reset", *arguments, database_url=pipeline.installation.database_url)


def shown(pipeline: Pipeline, *arguments: str) -> Any:
    command = reset(pipeline, *arguments, "--json")
    assert command.wait_for_end(timeout_s=120) == 0, command.text
    return json.loads(command.text)


def lane_ends(pipeline: Pipeline) -> Mapping[str, Mapping[int, int]]:
    return {topic: topic_ends(pipeline.kafka, topic) for topic in sorted({lane.topic for lane in LANES})}


def entries(pipeline: Pipeline, action: str) -> Sequence[Sequence[str]]:
    with pipeline.connect() as connection:
        return [entry.fields for entry in AuditLog(connection).page(limit=10) if entry.action == action]


def test_cases_36_all_of_the_range_again_and_nothing_else(pipeline: Pipeline, tmp_path: Path) -> None:
    """What was before the time is not repeated; an endpoint that is disabled by now hears nothing, a new one all of it.

    Deliveries that wait in the tiers stay there, and neither the scheduler's offsets nor those of `outbox.redelivery`
    move. What Kafka's own tool says of the group is what was shown.
    """
    tool = KafkaTool(pipeline.kafka, tmp_path)
    wait_until_empty(pipeline.kafka, WORKERS)
    worker = pipeline.worker(endpoint_schedule="1h", handlers=HANDLERS)
    kept, dropped, failing = pipeline.mailbox(), pipeline.mailbox(), pipeline.mailbox()
    for mailbox in (kept, dropped, failing):
        pipeline.wait_until_known(mailbox)
    failing.answer_with(respond(500))
    before = pipeline.append_many(f"{kept.event_type}.before", 5)
    kept.wait_for_events(before)
    since = datetime.now(UTC).isoformat()
    again = pipeline.append_many(f"{kept.event_type}.again", 30)
    unwanted = pipeline.append_many(dropped.event_type, 10)
    parked = [pipeline.append(failing.event_type)]
    handled = pipeline.append_many("handled.well", 4)
    pipeline.attempts.wait_until(
        lambda log: all(log.of(event_id) for event_id in [*again, *unwanted, *parked, *handled]),
        what="a first turn of each",
    )
    assert worker.stop() == 0
    wait_until_empty(pipeline.kafka, WORKERS)
    pipeline.change(dropped, enabled=False)
    late = pipeline.mailbox(event_type=kept.event_type)
    # Debezium brings both to the feed, on which the command finds them.
    eventually(
        lambda: (
            (targets := shown(pipeline, "--to-time", since)["again"]["targets"])
            and f"endpoint:{late.id}" in targets
            and f"endpoint:{dropped.id}" not in targets
        ),
        what="the endpoints as they are now",
        timeout_s=90,
    )
    commits, lanes = committed(pipeline.kafka, WORKERS), lane_ends(pipeline)
    schedulers = committed(pipeline.kafka, SCHEDULERS)
    dry = shown(pipeline, "--to-time", since, "--handlers", HANDLERS)
    assert committed(pipeline.kafka, WORKERS) == commits
    assert dry["again"]["targets"] == {
        f"endpoint:{kept.id}": 30,
        f"endpoint:{late.id}": 30,
        f"endpoint:{failing.id}": 1,
        f"handler:{HANDLERS}.takes_it": 4,
        "handler:in-a-thread": 4,
        NOBODY: len(unwanted),
    }
    done = shown(pipeline, "--to-time", since, "--execute")
    assert done["written"]
    assert tool.offsets(WORKERS, topics.EVENTS) == {
        each["partition"]: each["to"] for each in done["partitions"]
    }
    now = committed(pipeline.kafka, WORKERS)
    assert {place: now[place] for place in now if place[0] != topics.EVENTS} == {
        place: commits[place] for place in commits if place[0] != topics.EVENTS
    }
    assert committed(pipeline.kafka, SCHEDULERS) == schedulers
    assert lane_ends(pipeline) == lanes
    (said,) = entries(pipeline, "offsets.reset")
    assert f"read again: {done['again']['events_seen']}" in said
    letters = len(pipeline.dead_letters.to_the_end())
    pipeline.worker(endpoint_schedule="1h", handlers=HANDLERS)
    late.wait_for_events(again)
    pipeline.attempts.wait_until(
        lambda log: (
            all(len(log.of(event_id, kept.id)) >= 2 for event_id in again)
            and all(len(log.of(event_id)) >= 2 for event_id in parked)
            and all(len(log.of(event_id)) >= 4 for event_id in handled)
        ),
        what="a second turn of each",
    )
    last = pipeline.append(f"{kept.event_type}.last")
    kept.wait_for_events([last])
    pipeline.dead_letters.wait_until(
        lambda all_of_them: len(all_of_them) >= letters + len(unwanted),
        what="a dead letter of each that nobody wants",
    )
    pipeline.attempts.to_the_end()
    assert kept.repeated() == {str(event_id): 2 for event_id in again}
    assert late.repeated() == {}
    assert set(late.ids) == {str(event_id) for event_id in [*again, last]}
    assert dropped.repeated() == {}
    # Nobody wants these any more, which is what the dry run said.
    died = [letter.event_id for letter in pipeline.dead_letters.to_the_end()[letters:]]
    assert sorted(died) == sorted(map(str, unwanted))
    assert [len(failing.of(event_id)) for event_id in parked] == [2]
    assert {turn["attempt"] for event_id in [*again, *parked] for turn in pipeline.attempts.of(event_id)} == {
        1
    }


def test_it_waits_for_the_last_worker_to_go(pipeline: Pipeline, tmp_path: Path) -> None:
    """`--wait`, until the last worker is gone. While one stays, it is named, and nothing is changed."""
    wait_until_empty(pipeline.kafka, WORKERS)
    worker = pipeline.worker()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    event_id = pipeline.append(mailbox.event_type)
    mailbox.wait_for_events([event_id])
    in_vain = reset(pipeline, "--shift-by", "-1", "--execute", "--wait", "1s")
    assert in_vain.wait_for_end(timeout_s=120) == 1
    assert "has 1 member" in in_vain.text
    (member_id,) = KafkaTool(pipeline.kafka, tmp_path).member_ids(WORKERS)
    assert member_id in in_vain.text
    assert "127.0.0.1" in in_vain.text
    assert len(mailbox.of(event_id)) == 1
    waiting = reset(pipeline, "--shift-by", "-1", "--execute", "--wait", "5m", "--json")
    assert worker.stop() == 0
    assert waiting.wait_for_end(timeout_s=180) == 0, waiting.text
    assert json.loads(waiting.text)["written"]
    pipeline.worker()
    eventually(lambda: len(mailbox.of(event_id)) == 2 or None, what="the last event once more", timeout_s=120)
