"""What is left of a replay whose process was killed is done by another, and nothing of it twice."""

from __future__ import annotations

from collections import Counter

from streams import topics
from tests.support.api_process import ApiProcess
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.replaying import a_new_endpoint
from tests.support.topics import TopicTail


def test_a_killed_replayer_is_taken_over_and_each_event_is_sent_once(pipeline: Pipeline) -> None:
    """Kill -9 in the middle of a batch, twice: 300 events, each on outbox.redelivery once, none left out."""
    pipeline.worker()
    pipeline.recorder()
    since, history, new = a_new_endpoint(pipeline, after=300)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    apis = [ApiProcess(pipeline) for _ in range(3)]
    replay = apis[0].recover(new.id, since=since, rate_per_s=40)
    for number in (60, 160):
        wait_for_records(tail, number)
        executing = next(one for one in apis if one.child.is_running and holds(one, replay["id"]))
        executing.child.kill()
    (left,) = (one for one in apis if one.child.is_running)
    done = left.wait_for(replay["id"])
    assert sum(len(one.child.of("replay_taken_over")) for one in apis) == 2
    sent = [one for one in tail.to_the_end() if one.headers.get("outbox-replay-id") == replay["id"]]
    assert Counter(one.event_id for one in sent) == Counter(map(str, history))
    assert (done["sent"], done["events_read"]) == (len(history), done["events_to_read"])
    new.wait_for_events(history)
    assert sorted(new.ids) == sorted(map(str, history))
    for one in sent:
        assert one.headers["outbox-target"] == f"endpoint:{new.id}"
        assert one.headers["outbox-attempt"] == "1"
        topic, partition, _ = one.headers["outbox-origin"].split("/")
        assert (topic, int(partition)) == (topics.EVENTS, one.partition)


def test_a_replayer_that_loses_its_session_alone_sends_nothing_twice(pipeline: Pipeline) -> None:
    """Postgres ends the sessions of those that replay, while they send: another goes on, and each event goes once."""
    pipeline.worker()
    pipeline.recorder()
    since, history, new = a_new_endpoint(pipeline, after=200)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    apis = [ApiProcess(pipeline) for _ in range(2)]
    replay = apis[0].recover(new.id, since=since, rate_per_s=40)
    for number in (30, 80, 130):
        wait_for_records(tail, number)
        with pipeline.connect() as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'outbox-replayer'"
            )
    done = apis[0].wait_for(replay["id"])
    assert done["sent"] == len(history)
    assert sum(len(one.child.of("replay_taken_over")) for one in apis) == 3
    sent = [one for one in tail.to_the_end() if one.headers.get("outbox-replay-id") == replay["id"]]
    assert Counter(one.event_id for one in sent) == Counter(map(str, history))


def wait_for_records(tail: TopicTail, number: int) -> None:
    tail.wait_until(lambda records: len(records) >= number, what=f"{number} events")


def holds(api: ApiProcess, replay_id: str) -> bool:
    """Whether this process was the last to begin with a replay."""
    begun = [*api.child.of("replay_begins"), *api.child.of("replay_taken_over")]
    return any(line["replay_id"] == replay_id for line in begun)


def test_it_waits_for_a_recorder_and_says_so(pipeline: Pipeline) -> None:
    """Without one nobody could say what was delivered: it waits, and sends nothing; with one it goes on by itself."""
    pipeline.worker()
    since, history, new = a_new_endpoint(pipeline, after=20)
    pipeline.wait_until_known(new)
    got = pipeline.append_many(f"{new.event_type}.got", 20)
    new.wait_for_events(got)
    api = ApiProcess(pipeline)
    replay = api.recover(new.id, since=since)
    reason = wait_for_reason(api, replay["id"], "recorder")
    assert "outbox recorder" in reason
    assert "webhook-replay" not in {name for one in new.received for name in one.headers}
    pipeline.recorder()
    assert api.wait_for(replay["id"])["sent"] == len(history)
    new.wait_for_events(history)
    assert new.repeated() == {}


def wait_for_reason(api: ApiProcess, replay_id: str, word: str) -> str:
    def said() -> str | None:
        reason: str | None = api.replay(replay_id)["waits_for"]
        return reason if reason is not None and word in reason else None

    return eventually(said, what=f"{word} as what the replay waits for")
