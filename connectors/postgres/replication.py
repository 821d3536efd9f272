"""What Postgres has for Debezium: settings, role, publication and slot, read as values; and making the slot.

Place in the data's way: the outbox table's changes leave Postgres through the slot. `outbox setup` makes the
slot before the first row is written, because a row committed before it is never sent; `outbox doctor` reads
the rest. Invariants: reading changes nothing. Must not: drop or advance a slot, which loses what was not yet
read.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import psycopg
from psycopg import errors as pg_errors
from psycopg.rows import dict_row

from connectors.postgres.connection import connect, reason, statement_errors
from connectors.postgres.errors import SlotRefusedError

__all__ = [
    "Publication",
    "Replication",
    "Slot",
    "create_slot",
    "read_publication",
    "read_replication",
    "read_slot",
]

# Making a slot waits for the transactions that are open, of every database of the server.
_LIMIT: LiteralString = "set statement_timeout = '30s'"
_FAILOVER_SINCE = 17_00_00
_COUNTED_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What a publication passes on."""

    tables: frozenset[str]
    inserts: bool
    via_partition_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A replication slot.

    `retained_bytes` is the WAL that Postgres keeps for it (None: it keeps none, the slot is lost), and
    `unconfirmed_bytes` the WAL behind which its reader is.
    """

    plugin: str
    database: str
    active: bool
    wal_status: str
    confirmed_flush_lsn: int
    retained_bytes: int | None
    unconfirmed_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """One look at a database, and its clock at that moment."""

    server_version: int
    database: str
    role: str
    wal_level: str
    encoding: str
    max_slot_wal_keep_bytes: int | None
    may_replicate: bool
    current_lsn: int
    publication: Publication | None
    slot: Slot | None
    outbox_rows: int
    clock: datetime


_READ: LiteralString = """
select current_setting('server_version_num')::int as server_version,
       current_database() as database,
       current_user as role,
       current_setting('wal_level') as wal_level,
       pg_encoding_to_char(d.encoding) as encoding,
       case current_setting('max_slot_wal_keep_size') when '-1' then null
            else pg_size_bytes(current_setting('max_slot_wal_keep_size')) end as max_slot_wal_keep_bytes,
       (select rolsuper or rolreplication from pg_roles where rolname = current_user)
           or exists (select from pg_roles where rolname = 'rds_replication'
                      and pg_has_role(current_user, oid, 'member')) as may_replicate,
       case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end
           - '0/0'::pg_lsn as current_lsn,
       to_regclass('outbox.outbox') is not null as has_table,
       clock_timestamp() as clock
  from pg_database d where d.datname = current_database()
"""
_PUBLICATION: LiteralString = """
select p.pubinsert as inserts, p.pubviaroot as via_partition_root,
       array(select t.schemaname || '.' || t.tablename from pg_publication_tables t
              where t.pubname = p.pubname) as tables
  from pg_publication p where p.pubname = %s
"""
_SLOT: LiteralString = """
select plugin::text, coalesce(database::text, '') as database, active, coalesce(wal_status, 'unknown') as
wal_status,
       coalesce(confirmed_flush_lsn - '0/0'::pg_lsn, 0) as confirmed_flush_lsn,
       pg_wal_lsn_diff(l.here, restart_lsn) as retained_bytes,
       pg_wal_lsn_diff(l.here, confirmed_flush_lsn) as unconfirmed_bytes
  from pg_replication_slots,
       (select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn()
       end) l(here)
 where slot_name = %s
"""
_ROWS: LiteralString = "select count(*) as rows from (select from outbox.outbox limit %s) as first_rows"


def read_replication(database_url: str, *, slot: str, publication: str) -> Replication:
    """Look at a database.

    Raises:
        PostgresError: no connection, or the role may not even look.
    """
    with connect(database_url) as conn, statement_errors():
        return _read(conn, slot=slot, publication=publication)


def read_slot(connection: psycopg.Connection[Any], *, slot: str) -> Slot | None:
    """Look at the slot alone; None where there is none.

    Raises:
        PostgresError: the role may not look, or Postgres is gone.
    """
    with statement_errors(), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_SLOT, [slot]).fetchone()
    return None if row is None else _slot(row)


def read_publication(connection: psycopg.Connection[Any], *, publication: str) -> Publication | None:
    """Look at the publication alone; None where there is none.

    Raises:
        PostgresError: Postgres is gone.
    """
    with statement_errors(), connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(_PUBLICATION, [publication]).fetchone()
    return None if row is None else _publication(row)


def create_slot(database_url: str, *, slot: str) -> None:
    """Make a logical slot, if there is none; it keeps every row committed from now on until Debezium has read it.

    From PostgreSQL 17 on it is one that standbys may copy, so that it survives a failover.

    Raises:
        SlotRefusedError: Postgres said no, or open transactions kept it waiting.
        PostgresError: no connection.
    """
    with connect(database_url) as conn:
        conn.autocommit = True
        query: LiteralString = "select pg_create_logical_replication_slot(%s, 'pgoutput')"
        if conn.info.server_version >= _FAILOVER_SINCE:
            query = "select pg_create_logical_replication_slot(%s, 'pgoutput', failover => true)"
        try:
            conn.execute(_LIMIT)
            conn.execute(query, [slot])
        except pg_errors.DuplicateObject:
            return  # another setup was quicker
        except psycopg.Error as error:
            raise SlotRefusedError(
                f"Postgres made no replication slot {slot!r}: {reason(error)}. {_advice(error)}"
            ) from error


def _advice(error: psycopg.Error) -> str:
    match error:
        case pg_errors.InsufficientPrivilege():
            return "Give the role the right: ALTER ROLE … REPLICATION (or GRANT rds_replication on AWS)."
        case pg_errors.QueryCanceled():
            return "It waits for open transactions: end the oldest in pg_stat_activity, and run setup again."
        case pg_errors.ConfigurationLimitExceeded():
            return "Raise max_replication_slots or drop a slot that nobody uses, and run setup again."
        case pg_errors.ObjectNotInPrerequisiteState():
            return "Set wal_level = logical and restart Postgres."
        case _:
            return "Put that right, and run setup again."


def _read(conn: psycopg.Connection[Any], *, slot: str, publication: str) -> Replication:
    cursor = conn.cursor(row_factory=dict_row)
    facts = cursor.execute(_READ).fetchone()
    if facts is None:
        raise AssertionError("a database that is connected to is in pg_database")
    published = cursor.execute(_PUBLICATION, [publication]).fetchone()
    slotted = cursor.execute(_SLOT, [slot]).fetchone()
    rows = cursor.execute(_ROWS, [_COUNTED_ROWS]).fetchone() if facts.pop("has_table") else None
    return Replication(
        **{**facts, "current_lsn": int(facts["current_lsn"])},
        publication=None if published is None else _publication(published),
        slot=None if slotted is None else _slot(slotted),
        outbox_rows=0 if rows is None else rows["rows"],
    )


def _publication(row: dict[str, Any]) -> Publication:
    return Publication(**{**row, "tables": frozenset(row["tables"])})


def _slot(row: dict[str, Any]) -> Slot:
    numbers = ("confirmed_flush_lsn", "retained_bytes", "unconfirmed_bytes")
    return Slot(**{**row, **{name: None if row[name] is None else int(row[name]) for name in numbers}})
