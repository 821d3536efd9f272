"""What is left of a range whose process was killed is done by another, and nothing of it twice, for any target."""

from __future__ import annotations

from collections import Counter

import pytest

from streams import topics
from tests.integration.replay.test_range import span, target
from tests.integration.replay.test_takeover import holds, wait_for_records
from tests.support.api_process import ApiProcess
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail


@pytest.mark.parametrize("source", ["kafka", "postgres"])
def test_a_killed_replayer_is_taken_over_and_each_event_is_sent_once(pipeline: Pipeline, source: str) -> None:
    """Kill -9 in the middle of a batch, twice: 100 events for two endpoints, each once, none left out."""
    pipeline.worker()
    old = pipeline.mailbox()
    pipeline.wait_until_known(old)
    history = pipeline.append_many(f"{old.event_type}.history", 100)
    old.wait_for_events(history)
    new = pipeline.mailbox(event_type=old.event_type)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    apis = [ApiProcess(pipeline) for _ in range(3)]
    asked = apis[0].send_range(
        *span(pipeline, history), target(old), target(new), rate_per_s=40, source=source
    )
    for number in (50, 120):
        wait_for_records(tail, number)
        executing = next(one for one in apis if one.child.is_running and holds(one, asked["id"]))
        executing.child.kill()
    (left,) = (one for one in apis if one.child.is_running)
    done = left.wait_for(asked["id"])
    assert sum(len(one.child.of("replay_taken_over")) for one in apis) == 2
    sent = [one for one in tail.to_the_end() if one.headers.get("outbox-replay-id") == asked["id"]]
    assert Counter((one.headers["outbox-target"], one.event_id) for one in sent) == Counter(
        (name, str(event_id)) for name in (target(old), target(new)) for event_id in history
    )
    assert (done["sent"], done["events_read"]) == (200, done["events_to_read"])
    new.wait_for_events(history)
    assert sorted(new.ids) == sorted(map(str, history))
    for one in sent:
        assert one.headers["outbox-attempt"] == "1"
        topic, partition, _ = one.headers["outbox-origin"].split("/")
        assert (topic, int(partition)) == (
            topics.EVENTS if source == "kafka" else "outbox.outbox",
            one.partition,
        )
