"""What a section found: tables, latency curves, and what the database was asked to do. Pure."""

from dataclasses import dataclass

from benchmarks.database_work import DatabaseWork
from benchmarks.picture import Curve
from benchmarks.table import Table

__all__ = ["Results", "comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """One section's results. Curves and database work go into tables that span sections."""

    heading: str
    method: str
    tables: tuple[Table, ...]
    curves: tuple[Curve, ...] = ()
    database: tuple[DatabaseWork, ...] = ()


def comparison(results: list[Results]) -> tuple[Table, ...]:
    """Put the systems side by side: those tables for which the sections that ran have something."""
    curves = [curve for result in results for curve in result.curves]
    works = [work for result in results for work in result.database]
    tables = []
    if curves:
        tables.append(
            Table(
                title="Commit → first byte at the receiver, in ms",
                columns=("system", "events", "p50", "p90", "p99", "max", "never arrived"),
                rows=tuple(
                    (
                        curve.name,
                        f"{len(curve.latencies):,}",
                        *curve.latencies.cells(),
                        str(curve.latencies.unended),
                    )
                    for curve in curves
                ),
                notes=(
                    (
                        "An event that had not arrived when the measurement stopped counts with the time it had"
                        " waited by then; ≥ marks what rests on such."
                    ),
                ),
            )
        )
    if works:
        tables.append(
            Table(
                title="What the processing side asks of Postgres, for 1,000 events",
                columns=("system", "events", "statements", "transactions", "rows changed"),
                rows=tuple(work.cells() for work in works),
                notes=(
                    (
                        "The application's own transactions are left out: each is counted where it is made, and"
                        " subtracted."
                    ),
                    (
                        "Statements are those that workers send: a polling worker counts its own; ours are"
                        " given no database address. What is left in the transactions, whatever the number of"
                        " events, is Debezium's (its heartbeat every 10 s, its looks at the slot), autovacuum, the"
                        " opening of connections, and this benchmark's own reading of the counters."
                    ),
                    "Transactions (committed) and rows are from `pg_stat_database`.",
                ),
            )
        )
    return tuple(tables)
