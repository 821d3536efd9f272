"""Workers come and go under load, each with a clean stop: one, three, one again.

One scenario, run once. A steady load flows to one endpoint. Another endpoint holds one event from before the
first change on, longer than a rebalance waits. The scheduler runs all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.support.answers import respond
from tests.support.attempt_log import Turn
from tests.support.by_event import attempt_by_attempt
from tests.support.figures import note
from tests.support.gate import Gate
from tests.support.group import wait_until_settled, wait_until_shared
from tests.support.installation import Installation
from tests.support.load import Load
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail

# A rebalance waits one second for attempts in flight; this one's would take longer, and end by itself.
PATIENT = {
    "rebalance_drain_limit_s": 1,
    "endpoint_first_byte_timeout_s": 90,
    "endpoint_timeout_s": 90,
    "drain_limit_s": 91,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """What was seen."""

    sent: Sequence[str]
    flowed: Mailbox
    held: Mailbox
    held_turns: Sequence[Turn]
    exit_codes: Sequence[int]


@pytest.fixture(scope="module")
def scaled(installation: Installation) -> Iterator[Scaled]:
    with Pipeline(installation, name="scale-out") as pipeline:
        yield run(pipeline)


def run(pipeline: Pipeline) -> Scaled:
    events = TopicTail(pipeline.kafka, "outbox.events")
    gate = Gate()
    flowed = pipeline.mailbox()
    held = pipeline.mailbox(attempt_by_attempt(gate.before(respond(204)), respond(204)))
    pipeline.scheduler()
    first = pipeline.worker(**PATIENT)
    held_id = pipeline.append(held.event_type)
    held.wait_for_events([held_id])
    with Load(pipeline, flowed.event_type) as load:
        flowed.wait_for(200)
        others = [pipeline.start("worker", **PATIENT) for _ in range(2)]
        wait_until_shared([first, *others])
        flowed.wait_for(len(flowed.received) + 200)
        codes = [worker.stop() for worker in others]
        wait_until_shared([first])
        flowed.wait_for(len(flowed.received) + 200)
    flowed.wait_for_events(load.ids)
    turns = pipeline.attempts.wait_for(held_id, "interrupted", "succeeded")
    # Commits go on after four rebalances (faust #318): all of it is settled in the end.
    wait_until_settled(pipeline.kafka, events.wait_for_events([held_id, *load.ids]))
    codes.append(first.stop())
    gate.open()
    return Scaled(
        sent=[str(event_id) for event_id in load.ids],
        flowed=flowed,
        held=held,
        held_turns=turns,
        exit_codes=codes,
    )


def test_scaling_repeats_nothing(scaled: Scaled) -> None:
    """INV-8, CASES 30: no event comes twice, and none is missing (INV-1); the attempt that hung changes nothing."""
    note(
        f"workers 1, 3, 1 under load: {len(scaled.flowed.ids)} requests, {len(scaled.flowed.repeated())} repeated"
    )
    assert sorted(scaled.flowed.ids) == sorted(scaled.sent)
    assert scaled.flowed.repeated() == {}


def test_a_clean_stop_exits_with_0(scaled: Scaled) -> None:
    """Whoever stops a worker with SIGTERM sees that it was a clean stop."""
    assert scaled.exit_codes == [0, 0, 0]


def test_an_attempt_cut_off_is_on_record_and_parked(scaled: Scaled) -> None:
    """INV-8: what hangs longer than the drain limit is interrupted, which counts as an attempt, and is parked.

    INV-3: so the partition's next owner doesn't fire it at once, but when it is due.
    """
    interrupted, succeeded = scaled.held_turns
    assert (interrupted["attempt"], succeeded["attempt"]) == (1, 2)
    assert interrupted["next"].startswith("outbox.retry-")
    assert len(scaled.held.received) == 2
    assert scaled.held.received[1].at.timestamp() * 1000 >= interrupted["next_attempt_at_ms"]
