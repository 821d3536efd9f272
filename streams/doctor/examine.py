"""The whole examination: look, then check.

Place in the data's way: `outbox doctor` calls this and prints; a monitor may call it too.
"""

from streams.doctor import clock, connect, endpoints, kafka, postgres, recorder, sealing
from streams.doctor.facts import Facts, gather
from streams.doctor.finding import Finding
from streams.settings import Settings

__all__ = ["check", "examine"]


async def examine(settings: Settings) -> tuple[Finding, ...]:
    """Look at the environment of these settings (database, Kafka and Connect set) and check it."""
    return check(await gather(settings))


def check(facts: Facts) -> tuple[Finding, ...]:
    """Run every check, in the order of the data's way."""
    return tuple(
        finding
        for part in (postgres, connect, kafka, endpoints, sealing, recorder, clock)
        for finding in part.check(facts)
    )
