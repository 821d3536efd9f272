"""Endpoints: does the workers' topic have all that Postgres has, and were some disabled of late? Pure.

Place in the data's way: after the facts. An endpoint that the topic lacks is one that no worker knows.
"""

from collections.abc import Iterator

from connectors.counted import counted
from streams.doctor.facts import DatabaseFacts, EndpointFacts, Facts, Unreachable
from streams.doctor.finding import Finding, error, ok, warning
from streams.topics import ENDPOINTS

__all__ = ["check"]


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the two, and look at what was disabled automatically."""
    yield from _disabled(facts)
    match facts.endpoints:
        case None:
            return  # Postgres or Kafka gave no answer, which has its own finding
        case Unreachable(reason=reason):
            yield warning(
                "endpoints",
                f"Postgres' endpoints and {ENDPOINTS} could not be compared: {reason}",
                why="Endpoints that the topic lacks get nothing, and no worker can tell.",
                do="Put that right, and run outbox doctor again.",
            )
        case EndpointFacts(stored=stored, untold=untold) if untold:
            yield error(
                "endpoints",
                f"{ENDPOINTS} lacks {len(untold)} of {counted(len(stored), 'endpoint')}",
                why="Workers know endpoints from this topic alone: nothing is delivered to these.",
                do="Run outbox setup, which publishes all endpoints again.",
            )
        case EndpointFacts(stored=stored):
            yield ok("endpoints", f"{ENDPOINTS} has each of {counted(len(stored), 'endpoint')}")


def _disabled(facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.database, DatabaseFacts) and (count := facts.database.disabled_lately):
        yield warning(
            "endpoints",
            f"{counted(count, 'endpoint')} disabled automatically within a day",
            why="They answered 410, or did nothing but fail for too long; events of meanwhile are not sent to them.",
            do="outbox endpoints list says which, and why. Enable them when their receivers are back.",
        )
