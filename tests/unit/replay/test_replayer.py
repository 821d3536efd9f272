"""A replayer that is killed at any of its steps, and the next one that takes over: each event once, none left out.

Postgres and Kafka are stand-ins here, so that a crash can be put between any two of their calls; the same is done to
real processes in tests/integration/replay.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kafka.errors import ClusterUnreachable
from streams.errors import ReplayRefused
from tests.unit.replay.stepped_world import (
    Killed,
    World,
    crash_after,
    killed_twice_at_every_step,
    sent,
    wanted,
)


def test_killed_at_any_step_it_is_taken_over_with_each_event_once() -> None:
    """Before every single effect in turn, and its successor before every later one: no event twice, none left out."""
    for world in killed_twice_at_every_step(lambda: World(8)):
        assert sent(world) == wanted(world)
        assert world.replay.status == "done"
        assert world.replay.sent == len(world.redelivery)
        assert world.replay.events_read == world.replay.sent + world.replay.skipped == 8


def test_who_takes_over_gives_the_one_before_time_to_find_out() -> None:
    """A replayer that has lost its session alone looks once a second; only then is looked for what it has sent."""
    world = World(8)
    world.at_step = crash_after(20)
    with pytest.raises(Killed):
        world.execute()
    begun_s = world.seconds
    looked_s: list[float] = []

    def look(step: str) -> None:
        if step == "look":
            looked_s.append(world.seconds)

    world.at_step = look
    world.execute()
    assert len(looked_s) == 1
    assert looked_s[0] - begun_s > 1.0


def test_what_is_away_is_told_and_tried_again() -> None:
    """Kafka that gives no answer ends nothing: the reason is shown, and the next execution goes on."""
    world = World(8)

    def away(step: str) -> None:
        if step == "read" and world.redelivery:
            raise ClusterUnreachable("kafka:9092", "timed out")

    world.at_step = away
    assert world.execute() == "again"
    assert world.replay.status == "running"
    assert "timed out" in (world.replay.waits_for or "")
    world.at_step = lambda _step: None
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)


def test_one_that_may_not_begin_yet_is_left_for_later() -> None:
    """Else three of them would hold all threads; and it says what it waits for."""
    world = World(8)
    world.may_begin, world.asks = False, 10
    assert world.execute() == "again"
    assert 4.0 < world.seconds < 6.0
    assert (world.replay.status, world.replay.waits_for) == (
        "waiting",
        "the workers have 3 records to settle first",
    )
    world.may_begin = True
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)


def test_a_refusal_fails_it_with_the_reason() -> None:
    """Nothing more is sent, and nobody tries again."""
    world = World(8)

    def refuse(step: str) -> None:
        if step == "read" and world.redelivery:
            raise ReplayRefused("Endpoint ep_1 is disabled")

    world.at_step = refuse
    assert world.execute() == "ended"
    assert (world.replay.status, world.replay.error) == ("failed", "Endpoint ep_1 is disabled")
    assert world.redelivery


def test_it_keeps_to_its_pace() -> None:
    """So many a second and no more, over batches, whatever they hold."""
    world = World(30)
    world.execute()
    assert world.seconds == pytest.approx((len(world.redelivery) - 1) / 3.0, abs=0.1)


def test_an_event_that_stands_twice_on_its_topic_is_sent_once() -> None:
    """Debezium repeats after a crash what it had not noted down."""
    world = World(8)
    world.deliveries[5:5] = world.deliveries[3:5]
    world.execute()
    assert set(sent(world).values()) == {1}
    assert world.replay.events_read == world.replay.sent + world.replay.skipped == 10


def test_a_stop_is_heeded_within_a_batch_and_what_was_sent_is_counted() -> None:
    """Somebody stops it while a batch waits for its pace: the rest of the batch is not sent."""
    world = World(30)

    def stop(step: str) -> None:
        if step == "send" and len(world.redelivery) == 4:
            world.replay = replace(world.replay, status="stopped")

    world.at_step = stop
    assert world.execute() == "ended"
    assert world.replay.status == "stopped"
    assert world.replay.sent == len(world.redelivery) < 9


def test_a_stop_while_kafka_is_slow_counts_what_is_acknowledged_in_the_end() -> None:
    """It is heard while the batch waits for its acknowledgement."""
    world = World(30)
    world.acknowledged_after_s = 1.5

    def stop(step: str) -> None:
        if step == "flush" and world.redelivery:
            world.replay = replace(world.replay, status="stopped")

    world.at_step = stop
    assert world.execute() == "ended"
    assert world.replay.sent == len(world.redelivery) == 2


def test_our_own_stop_leaves_it_to_others() -> None:
    """The process ends in the middle of a batch: the replay goes on elsewhere, and repeats nothing."""
    world = World(30)

    def stop(step: str) -> None:
        if step == "send" and len(world.redelivery) == 7:
            world.stop.set()

    world.at_step = stop
    assert world.execute() == "interrupted"
    assert world.replay.status == "running"
    world.stop.clear()
    assert world.execute() == "ended"
    assert sent(world) == wanted(world)
