"""The recorder: does the delivery log keep up? Pure.

Place in the data's way: after the facts. A log that is behind holds up no delivery; but what Kafka deletes before it
was recorded is missing from the log for ever.
"""

from collections.abc import Iterator
from typing import Final

from connectors.counted import counted
from streams.doctor.facts import DatabaseFacts, Facts, KafkaFacts
from streams.doctor.finding import Finding, ok, warning

__all__ = ["check"]

#: Ten seconds of its work, or more: a recorder that is merely busy is not that far behind for long.
_BEHIND: Final = 100_000


def check(facts: Facts) -> Iterator[Finding]:
    """Look at how far the recorder is behind, whether there is one, and whether it could write with our role."""
    yield from _role(facts)
    match facts.kafka:
        case KafkaFacts(unrecorded=None):
            yield ok("recorder", "no recorder has run: there is no delivery log")
        case KafkaFacts(unrecorded=int() as behind, recorders=0):
            yield warning(
                "recorder",
                f"no recorder runs; {counted(behind, 'attempt')} not in the delivery log",
                why="The log is as old as its last run, and lacks for ever what Kafka deletes before it is recorded.",
                do="Run outbox recorder.",
            )
        case KafkaFacts(unrecorded=int() as behind) if behind > _BEHIND:
            yield warning(
                "recorder",
                f"the delivery log is {counted(behind, 'attempt')} behind",
                why="It shows deliveries as they were, and lacks for ever what Kafka deletes before it is recorded.",
                do="Look at the recorder's log for postgres_away and postgres_refuses; else run one more, up to one "
                "for each partition.",
            )
        case KafkaFacts():
            yield ok("recorder", "the delivery log keeps up")
        case _:
            return  # Kafka gave no answer, which has its own finding


def _role(facts: Facts) -> Iterator[Finding]:
    ever_ran = isinstance(facts.kafka, KafkaFacts) and facts.kafka.unrecorded is not None
    if isinstance(facts.database, DatabaseFacts) and not facts.database.may_make_days and ever_ran:
        yield warning(
            "recorder",
            "the role of OUTBOX_DATABASE_URL doesn't own the delivery log's tables",
            why="A recorder with this role can make no partition for a new day, and then writes nothing.",
            do="Run the recorder with the role that ran outbox setup; if it does, there is nothing to do.",
        )
