"""What the database was asked to do, from its own counters (`pg_stat_database`)."""

import time
from dataclasses import dataclass

import psycopg

__all__ = ["DatabaseCounters", "DatabaseWork", "read_counters", "settled_counters"]

#: A backend reports what it did at the latest one second after a transaction, unless it ends before.
_REPORTED_AFTER_S = 1.5

_READ = """
select xact_commit, tup_inserted, tup_updated + tup_deleted
from pg_stat_database where datname = current_database()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseCounters:
    """Committed transactions and rows written since the statistics began."""

    transactions: int
    inserted: int
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseWork:
    """What the processing side asked of the database while it handled `events`."""

    system: str
    events: int
    statements: int
    transactions: int
    rows_changed: int

    def cells(self) -> tuple[str, ...]:
        """Give a table's row: statements, transactions and changed rows for each thousand events."""

        def per_thousand(count: int) -> str:
            return f"{count * 1000 / self.events:,.1f}"

        return (
            self.system,
            f"{self.events:,}",
            per_thousand(self.statements),
            per_thousand(self.transactions),
            per_thousand(self.rows_changed),
        )


def read_counters(database_url: str) -> DatabaseCounters:
    """Read the counters now."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(_READ).fetchone()
    assert row is not None
    return DatabaseCounters(transactions=row[0], inserted=row[1], changed=row[2])


def settled_counters(database_url: str) -> DatabaseCounters:
    """Read the counters when what happened before has been reported."""
    time.sleep(_REPORTED_AFTER_S)
    return read_counters(database_url)
