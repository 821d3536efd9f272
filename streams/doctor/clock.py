"""Clocks: due times are written by one machine and obeyed by another. Pure.

Place in the data's way: after the facts. Postgres' clock stands for the machines that workers run beside;
this process' clock for the worker's.
"""

from collections.abc import Iterator
from datetime import timedelta

from streams.doctor.facts import DatabaseFacts, Facts
from streams.doctor.finding import Finding, error, ok, warning

__all__ = ["check"]

_NOTICEABLE = timedelta(seconds=1)
_DAMAGING = timedelta(seconds=30)
_WHY = (
    "A retry fires by the clock of the machine that reads its due time, and receivers refuse old signatures."
)
_DO = "Let NTP (chrony, systemd-timesyncd) keep the clocks of all machines."


def check(facts: Facts) -> Iterator[Finding]:
    """Compare the clocks."""
    if not isinstance(facts.database, DatabaseFacts):
        return
    ahead = facts.database.clock_ahead
    # Half the round trip is how wrong the comparison itself may be.
    certain = abs(ahead) - facts.database.round_trip / 2
    side = "ahead of" if ahead > timedelta(0) else "behind"
    what = f"Postgres' clock is {abs(ahead).total_seconds():.3f} s {side} ours"
    if certain > _DAMAGING:
        yield error("clock", what, why=_WHY, do=_DO)
    elif certain > _NOTICEABLE:
        yield warning("clock", what, why=_WHY, do=_DO)
    else:
        yield ok("clock", what)
