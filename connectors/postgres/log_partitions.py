"""The partitions of what the recorder writes: one a day and table, made when needed, dropped whole when it is over.

Place in the data's way: beneath the log's writer; the recorder decides which days are kept. Invariants: nothing is
ever deleted row by row (formance/webhooks #159), and no step takes a lock that a reader or a writer would wait
behind: a partition is attached, and detached concurrently (svix #869 had deadlocks). All of it can be repeated, and
broken off anywhere. Must not: touch a table that isn't named as a day of those that it is asked about.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import psycopg
from psycopg import sql

__all__ = [
    "DEAD_LETTER_TABLES",
    "TABLES",
    "Tables",
    "drop_days_before",
    "make_days",
    "may_make_days",
    "partition_day",
    "partition_name",
]

Tables = tuple[str, ...]

#: Attempts first: they go before the deliveries that they belong to.
TABLES: Final[Tables] = ("attempts", "deliveries")
DEAD_LETTER_TABLES: Final[Tables] = ("dead_letters",)

_DAY: Final = timedelta(days=1)
_NAME: Final = re.compile(r"(attempts|deliveries|dead_letters)_([0-9]{8})")

# Names of advisory locks, in ASCII; of the tables' own, the second. One recorder makes partitions at a time, and the
# others wait; one drops some, and the others leave it to that one.
_MAKING: Final = int.from_bytes(b"ob_make")
_DROPPING: Final = int.from_bytes(b"ob_drop")

_ATTACHED: Final = """
select child.relname, link.inhdetachpending
from pg_catalog.pg_inherits link
join pg_catalog.pg_class child on child.oid = link.inhrelid
where link.inhparent = any(%(parents)s::regclass[])
"""
_TABLES_OF_THE_SCHEMA: Final = """
select relname from pg_catalog.pg_class where relnamespace = 'outbox'::regnamespace and relkind = 'r'
"""
_CREATE: Final = "create table if not exists outbox.{partition} (like outbox.{table} including all)"
_ATTACH: Final = """
alter table outbox.{table} attach partition outbox.{partition} for values from ({begin}) to ({end})
"""
_DETACH: Final = "alter table outbox.{table} detach partition outbox.{partition} concurrently"
_FINISH_DETACHING: Final = "alter table outbox.{table} detach partition outbox.{partition} finalize"
_MAY_MAKE: Final = """
select has_schema_privilege('outbox', 'create') and bool_and(pg_has_role(relowner, 'usage'))
from pg_catalog.pg_class where oid = any(%(parents)s::regclass[])
"""
_DROP: Final = "drop table if exists outbox.{partition}"


def partition_name(table: str, day: date) -> str:
    """Name the partition of a day.

    >>> partition_name("deliveries", date(2026, 11, 30))
    'deliveries_20261130'
    """
    return f"{table}_{day:%Y%m%d}"


def partition_day(name: str) -> date | None:
    """Which day a table holds; None for a table that is no day of the log.

    >>> partition_day("attempts_20261130")
    datetime.date(2026, 11, 30)
    >>> partition_day("attempts_20261399"), partition_day("attempts")
    (None, None)
    """
    matched = _NAME.fullmatch(name)
    if matched is None:
        return None
    try:
        return datetime.strptime(matched[2], "%Y%m%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def make_days(
    connection: psycopg.Connection[Any], days: Collection[date], *, tables: Tables = TABLES
) -> None:
    """Have a partition of each table for each of these days. Waits while another recorder makes some."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_MAKING,))
        attached = {partition.name for partition in _attached(connection, tables)}
        for day in sorted(days):
            for table in tables:
                if partition_name(table, day) not in attached:
                    _make(connection, table, day)


def may_make_days(connection: psycopg.Connection[Any]) -> bool:
    """Whether the connection's role may make and drop partitions: it owns the tables, and may create in the schema."""
    row = connection.execute(_MAY_MAKE, _parents((*TABLES, *DEAD_LETTER_TABLES))).fetchone()
    return row is not None and bool(row[0])


def drop_days_before(
    connection: psycopg.Connection[Any], oldest: date, *, tables: Tables = TABLES
) -> tuple[str, ...]:
    """Drop the partitions of all days before the oldest that is kept; return their names.

    Leaves it to another recorder that is at it. The connection must be in autocommit mode, outside of a transaction.
    """
    lock = (_DROPPING + zlib.crc32(tables[0].encode()),)
    row = connection.execute("select pg_try_advisory_lock(%s)", lock).fetchone()
    if row is None or not row[0]:
        return ()
    try:
        return tuple(_dropped(connection, oldest, tables))
    finally:
        if not connection.closed:
            connection.execute("select pg_advisory_unlock(%s)", lock)


@dataclass(frozen=True, slots=True, order=True)
class _Attached:
    """A partition. One whose detaching was broken off comes first: until it is finished, no other can be detached."""

    settled: bool
    name: str


def _attached(connection: psycopg.Connection[Any], tables: Tables) -> list[_Attached]:
    found = connection.execute(_ATTACHED, _parents(tables))
    return sorted(_Attached(not pending, name) for name, pending in found)


def _parents(tables: Tables) -> dict[str, list[str]]:
    return {"parents": [f"outbox.{table}" for table in tables]}


def _dropped(connection: psycopg.Connection[Any], oldest: date, tables: Tables) -> Iterable[str]:
    for partition in _attached(connection, tables):
        if not partition.settled:
            _run(connection, _FINISH_DETACHING, partition.name)
        elif _is_before(partition.name, oldest):
            _run(connection, _DETACH, partition.name)
    # What an earlier run has detached and not dropped is among them.
    still_attached = {partition.name for partition in _attached(connection, tables)}
    names = [name for (name,) in connection.execute(_TABLES_OF_THE_SCHEMA)]
    for name in sorted(names):
        if _table(name) in tables and name not in still_attached and _is_before(name, oldest):
            _run(connection, _DROP, name)
            yield name


def _table(partition: str) -> str:
    return partition.rpartition("_")[0]


def _is_before(name: str, oldest: date) -> bool:
    day = partition_day(name)
    return day is not None and day < oldest


def _make(connection: psycopg.Connection[Any], table: str, day: date) -> None:
    name = partition_name(table, day)
    bounds = {"begin": sql.Literal(_midnight(day)), "end": sql.Literal(_midnight(day + _DAY))}
    for statement in (_CREATE, _ATTACH):
        parts = {"table": sql.Identifier(table), "partition": sql.Identifier(name), **bounds}
        connection.execute(sql.SQL(statement).format(**parts))


def _run(connection: psycopg.Connection[Any], statement: str, name: str) -> None:
    table = sql.Identifier(_table(name))
    connection.execute(sql.SQL(statement).format(table=table, partition=sql.Identifier(name)))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
