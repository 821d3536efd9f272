"""When the delivery log can be trusted for what is on Kafka."""

from __future__ import annotations

from collections.abc import Mapping

from streams.replay.completeness import Completeness, KeptCompleteness
from streams.replay.source import NotYet
from streams.topics import ATTEMPTS, EVENTS, RECORDER_GROUP, REDELIVERY, WORKER_GROUP


class Kafka:
    """Topics that grow, and groups that commit. Asking for an end is noted."""

    def __init__(self) -> None:
        self.end = {EVENTS: {0: 10, 1: 0}, REDELIVERY: {0: 4, 1: 0}, ATTEMPTS: {0: 7, 1: 5}}
        self.begin = {topic: {0: 0, 1: 0} for topic in self.end}
        self.commit: dict[tuple[str, str], dict[int, int]] = {
            (WORKER_GROUP, EVENTS): {0: 10},
            (WORKER_GROUP, REDELIVERY): {0: 4},
            (RECORDER_GROUP, ATTEMPTS): {0: 7, 1: 5},
        }
        self.asked: list[str] = []

    def begins(self, topic: str) -> Mapping[int, int]:
        return self.begin[topic]

    def ends(self, topic: str) -> Mapping[int, int]:
        self.asked.append(topic)
        return dict(self.end[topic])

    def committed(self, group: str, topic: str) -> Mapping[int, int]:
        return self.commit[group, topic]


def reason(completeness: Completeness) -> str:
    found = completeness.events_end()
    assert isinstance(found, NotYet)
    return found.reason


def test_where_all_is_settled_and_recorded_it_is_complete_at_once() -> None:
    """Up to the end that `outbox.events` has now."""
    assert Completeness(Kafka()).events_end() == {0: 10, 1: 0}


def test_it_is_of_the_moment_at_which_it_was_first_asked() -> None:
    """What comes while it waits moves no end, or under traffic it would wait for ever."""
    kafka = Kafka()
    kafka.commit[WORKER_GROUP, EVENTS] = {0: 8}
    completeness = Completeness(kafka)
    assert "2 records of outbox.events" in reason(completeness)
    kafka.end[EVENTS] = {0: 500, 1: 500}
    kafka.end[REDELIVERY] = {0: 500, 1: 500}
    kafka.commit[WORKER_GROUP, EVENTS] = {0: 10}
    assert completeness.events_end() == {0: 10, 1: 0}


def test_the_attempts_end_is_noted_after_the_workers_have_settled_all() -> None:
    """Noted before, it would lack the attempts that the workers still make, and what they deliver be sent again."""
    kafka = Kafka()
    kafka.commit[WORKER_GROUP, REDELIVERY] = {}
    completeness = Completeness(kafka)
    assert "4 records of outbox.redelivery" in reason(completeness)
    assert ATTEMPTS not in kafka.asked
    kafka.commit[WORKER_GROUP, REDELIVERY] = {0: 4}
    kafka.end[ATTEMPTS] = {0: 8, 1: 5}
    assert "1 attempt to write" in reason(completeness)
    assert "outbox recorder" in reason(completeness)
    kafka.commit[RECORDER_GROUP, ATTEMPTS] = {0: 8, 1: 5}
    assert completeness.events_end() == {0: 10, 1: 0}


def test_what_is_deleted_is_not_waited_for() -> None:
    """A group that never committed anything of a partition whose records are all gone has nothing left to do."""
    kafka = Kafka()
    kafka.commit[RECORDER_GROUP, ATTEMPTS] = {}
    kafka.begin[ATTEMPTS] = {0: 7, 1: 5}
    assert Completeness(kafka).events_end() == {0: 10, 1: 0}


def test_who_is_tried_again_keeps_what_it_has_noted() -> None:
    """A backlog that never ends would hold up for ever who notes its end anew each time."""
    kafka = Kafka()
    kafka.commit[WORKER_GROUP, EVENTS] = {0: 8}
    kept = KeptCompleteness(kafka)
    assert "2 records" in reason(kept.of("r", others=0))
    kafka.end[EVENTS], kafka.commit[WORKER_GROUP, EVENTS] = {0: 12, 1: 0}, {0: 10}
    assert kept.of("r", others=0).events_end() == {0: 10, 1: 0}
    assert "2 records" in reason(kept.of("another", others=0))


def test_what_was_noted_before_others_have_sent_counts_no_more() -> None:
    """Their deliveries stand behind the noted end, so the log needn't have them: they would be sent twice."""
    kafka = Kafka()
    kept = KeptCompleteness(kafka)
    assert kept.of("r", others=0).events_end() == {0: 10, 1: 0}
    kafka.end[REDELIVERY] = {0: 6, 1: 0}
    assert "2 records of outbox.redelivery" in reason(kept.of("r", others=2))
