"""A worker is killed with -9 while the first of many deliveries hangs and the others flow.

One scenario, run once; each test looks at one promise about it. Two workers share the topics. One event hangs
at its receiver; hundreds behind it in the same partition are delivered. When a further load is half
delivered, the worker that has the hanging one is killed, and the other takes over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.figures import note
from tests.support.gate import Gate
from tests.support.group import WORKERS, is_settled, owner_of, wait_until_settled, wait_until_shared
from tests.support.installation import Installation
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.topics import Committed, Record, TopicTail, committed

QUIET = 300
LOAD = 3_000
# The session timeout and the drain limit are the defaults; only the hanging attempt may take its time.
PATIENT = {"endpoint_first_byte_timeout_s": 90, "endpoint_timeout_s": 90, "drain_limit_s": 91}
TAKEN_OVER_WITHIN_S = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """What was seen. `kept` is what the broker holds of the commits when the worker is dead."""

    pipeline: Pipeline
    gate: Gate
    hanging: Record
    quiet: Sequence[Record]
    load: Sequence[Record]
    quiet_commits: Mapping[tuple[str, int], Committed]
    kept: Mapping[tuple[str, int], Committed]
    killed_at: datetime
    hung: Mailbox
    flowed: Mailbox


@pytest.fixture(scope="module")
def crash(installation: Installation) -> Iterator[Crash]:
    with Pipeline(installation, name="worker-killed") as pipeline:
        seen = run(pipeline)
        yield seen
        seen.gate.open()


def run(pipeline: Pipeline) -> Crash:
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    hung = pipeline.mailbox(attempt_by_attempt(gate.before(respond(204)), respond(204)))
    flowed = pipeline.mailbox()
    workers = [pipeline.start("worker", **PATIENT) for _ in range(2)]
    wait_until_shared(workers)

    hanging_id = pipeline.append(hung.event_type)
    hung.wait_for_events([hanging_id])
    [hanging] = events.wait_for_events([hanging_id])
    quiet_ids = pipeline.append_many(flowed.event_type, QUIET)
    flowed.wait_for_events(quiet_ids)
    quiet = events.wait_for_events(quiet_ids)
    wait_until_settled(pipeline.kafka, quiet)
    quiet_commits = committed(pipeline.kafka, WORKERS)

    load_ids = pipeline.append_many(flowed.event_type, LOAD)
    flowed.wait_for(QUIET + LOAD // 2)
    owner_of(hanging, workers).kill()
    killed_at = datetime.now(UTC)
    kept = committed(pipeline.kafka, WORKERS)

    flowed.wait_for_events(load_ids)
    return Crash(
        pipeline=pipeline,
        gate=gate,
        hanging=hanging,
        quiet=quiet,
        load=events.wait_for_events(load_ids),
        quiet_commits=quiet_commits,
        kept=kept,
        killed_at=killed_at,
        hung=hung,
        flowed=flowed,
    )


def test_no_offset_is_committed_past_an_unsettled_delivery(crash: Crash) -> None:
    """INV-2: with hundreds settled behind it, the broker's committed offset is still that of the hanging one.

    What is settled beyond it stands in the commit's metadata.
    """
    partition = (crash.hanging.topic, crash.hanging.partition)
    behind = [record for record in crash.quiet if (record.topic, record.partition) == partition]
    assert len(behind) > QUIET / 20, "or nothing is shown"
    assert crash.quiet_commits[partition].offset == crash.hanging.offset
    assert all(is_settled(crash.quiet_commits, record) for record in behind)
    assert crash.kept[partition].offset <= crash.hanging.offset


def test_a_crash_loses_nothing(crash: Crash) -> None:
    """INV-1, INV-2: every event arrives, the one that hung under the same id again (INV-4); all is settled at last."""
    crash.hung.wait_for(2)
    wait_until_settled(crash.pipeline.kafka, [crash.hanging, *crash.quiet, *crash.load])
    assert set(crash.flowed.ids) == {record.event_id for record in (*crash.quiet, *crash.load)}
    assert crash.hung.ids == [crash.hanging.event_id] * 2


def test_a_crash_repeats_only_what_was_not_committed(crash: Crash) -> None:
    """INV-8: nothing that the last commit said is settled is sent again, although one attempt hung all the time."""
    repeated = crash.flowed.repeated()
    records = {record.event_id: record for record in (*crash.quiet, *crash.load)}
    wrongly = [event_id for event_id in repeated if is_settled(crash.kept, records[event_id])]
    sent_before = [request for request in crash.flowed.received if request.at <= crash.killed_at]
    uncommitted = [
        request
        for request in sent_before
        if not is_settled(crash.kept, records[request.headers["webhook-id"]])
    ]
    oldest_s = max([(crash.killed_at - request.at).total_seconds() for request in uncommitted], default=0.0)
    note(
        f"worker killed -9 at {len(sent_before)} of {QUIET + LOAD} requests: {len(uncommitted)} of them in flight or "
        f"not committed, the oldest {oldest_s * 1000:.0f} ms old; {len(repeated)} sent again, "
        f"{len(wrongly)} of them needlessly"
    )
    assert not wrongly
    assert max(repeated.values(), default=2) == 2
    assert len(repeated) <= len(uncommitted)


def test_another_worker_takes_over_in_time(crash: Crash) -> None:
    """With the default settings the hanging event is sent again within 15 s of the kill (the issue's bound)."""
    taken_over_s = (crash.hung.wait_for(2)[1].at - crash.killed_at).total_seconds()
    note(f"worker killed -9 in the middle of an attempt: taken over after {taken_over_s:.1f} s")
    assert 0 < taken_over_s < TAKEN_OVER_WITHIN_S


def test_an_attempt_that_a_crash_cut_off_is_made_again(crash: Crash) -> None:
    """INV-7: it was never answered, so the next owner's is attempt 1 still."""
    [turn] = crash.pipeline.attempts.wait_for(crash.hanging.event_id, "succeeded")
    assert turn["attempt"] == 1
