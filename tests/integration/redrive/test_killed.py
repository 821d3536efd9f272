"""A redrive whose process is killed, or let go of, in the middle: nothing is left out, and nothing is sent twice."""

from __future__ import annotations

import signal
from collections import Counter

from streams import topics
from tests.support.api_process import ApiProcess
from tests.support.buried import bury, letters_where, sent_by, slow_redrive
from tests.support.child import Child
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.topics import TopicTail


def holds(api: ApiProcess, replay_id: str) -> bool:
    """Whether this process has begun with a replay, or gone on with it."""
    begun = [*api.child.of("replay_begins"), *api.child.of("replay_taken_over")]
    return any(line["replay_id"] == replay_id for line in begun)


def command(pipeline: Pipeline, *arguments: str) -> Child:
    return pipeline.start(
        "dead-letters", *arguments, database_url=pipeline.installation.database_url, log_level="info"
    )


def test_a_killed_redrive_is_taken_over_and_each_letter_is_sent_once(pipeline: Pipeline) -> None:
    """With kill -9 in the middle of a batch, twice: each letter on outbox.redelivery once, and delivered once."""
    pipeline.worker()
    pipeline.recorder()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    buried = bury(pipeline, mailbox, 200)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    apis = [ApiProcess(pipeline) for _ in range(3)]
    replay = slow_redrive(pipeline, buried.letters, rate_per_s=40)
    for number in (40, 110):
        eventually(lambda number=number: len(sent_by(tail, replay)) >= number, what=f"{number} letters")  # type: ignore[misc]
        executing = next(one for one in apis if one.child.is_running and holds(one, replay))
        executing.child.kill()
    (left,) = (one for one in apis if one.child.is_running)
    done = left.wait_for(replay)
    assert (done["sent"], done["skipped"], done["events_read"]) == (200, 0, 200)
    assert Counter(sent_by(tail, replay)) == Counter(map(str, buried.events))
    mailbox.wait_for_events(buried.events)
    assert mailbox.repeated() == {}


def test_a_stop_of_a_killed_redrive_opens_what_was_not_sent(pipeline: Pipeline) -> None:
    """Killed in a batch, then stopped: what stands on outbox.redelivery is not opened, all else is."""
    pipeline.worker()
    pipeline.recorder()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    buried = bury(pipeline, mailbox, 100)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    first = ApiProcess(pipeline)
    replay = slow_redrive(pipeline, buried.letters, rate_per_s=30)
    freeze_in_a_batch(pipeline, first, tail, replay)
    other = ApiProcess(pipeline)
    assert other.ask("POST", f"/v1/replays/{replay}/stop").body["status"] == "stopped"
    first.child.kill()
    released = other.child.wait_for("letters_released")
    sent = sent_by(tail, replay)
    rows = letters_where(pipeline, "target = %s", f"endpoint:{mailbox.id}")
    assert released["count"] == 100 - len(sent)
    assert {str(row["event_id"]) for row in rows if row["status"] == "redriven"} == set(sent)
    assert len(sent) == len(set(sent))


def freeze_in_a_batch(pipeline: Pipeline, api: ApiProcess, tail: TopicTail, replay: str) -> None:
    """Stop a process where it has sent some of a batch, and has not stored that."""
    number = 10
    while True:
        eventually(lambda number=number: len(sent_by(tail, replay)) >= number, what=f"{number} letters")  # type: ignore[misc]
        api.child.freeze()
        with pipeline.connect() as connection:
            row = connection.execute("select sent from outbox.replays where id = %s", (replay,)).fetchone()
        number = len(sent_by(tail, replay))
        if row is not None and 0 < row[0] < number:
            return
        api.child.thaw()
        number += 3


def test_the_command_redrives_and_can_be_left_and_taken_up(pipeline: Pipeline) -> None:
    """Ctrl-C in the middle lets go; resumed, the rest is sent, and nothing again. Twice is an error in words."""
    pipeline.worker()
    pipeline.recorder()
    mailbox = pipeline.mailbox()
    pipeline.wait_until_known(mailbox)
    buried = bury(pipeline, mailbox, 60)
    tail = TopicTail(pipeline.kafka, topics.REDELIVERY)
    chosen = ("redrive", "--target", mailbox.id, "--yes")
    left = command(pipeline, *chosen, "--rate", "20")

    def replay_ids() -> set[str]:
        rows = letters_where(pipeline, "target = %s", f"endpoint:{mailbox.id}")
        return {row["replay_id"] for row in rows if row["replay_id"]}

    eventually(lambda: len(sent_by(tail, *replay_ids())) >= 10, what="the first ten")
    left.signal(signal.SIGINT)
    assert left.wait_for_end() == 130
    (replay,) = replay_ids()
    assert f"outbox replay resume {replay}" in left.text
    assert len(sent_by(tail, replay)) < 60
    resumed = pipeline.start("replay", "resume", replay, database_url=pipeline.installation.database_url)
    assert resumed.wait_for_end() == 0, resumed.text
    assert f"done: 60 sent, 0 skipped (replay {replay})" in resumed.text
    assert Counter(sent_by(tail, replay)) == Counter(map(str, buried.events))
    mailbox.wait_for_events(buried.events)
    assert mailbox.repeated() == {}
    again = command(pipeline, *chosen)
    assert again.wait_for_end() == 1
    assert "None of these dead letters is open" in again.text
