"""Putting the publication right: made where it is missing, completed where it leaves something out.

Place in the data's way: beside the outbox; what the publication leaves out, Postgres never passes on. Used by
`outbox setup`. Invariants: can be repeated. Must not: drop a publication or take a table from one.
"""

from typing import LiteralString

from psycopg import sql

from connectors.postgres.connection import connect, statement_errors
from connectors.postgres.replication import Publication

__all__ = ["OUTBOX_TABLE", "ROOT_FAULT", "publication_faults", "put_publication_right"]

OUTBOX_TABLE = "outbox.outbox"
ROOT_FAULT = "publish under the name of the partitions' root"

_CREATE: LiteralString = """
create publication {} for table outbox.outbox
  with (publish = 'insert', publish_via_partition_root = true)
"""
_CHANGES: dict[str, LiteralString] = {
    f"add table {OUTBOX_TABLE}": "alter publication {} add table outbox.outbox",
    "publish inserts": "alter publication {} set (publish = 'insert')",
    ROOT_FAULT: "alter publication {} set (publish_via_partition_root = true)",
}
_CREATE_FAULT = f"create it for table {OUTBOX_TABLE}"


def publication_faults(found: Publication | None) -> tuple[str, ...]:
    """Say what has to be done to a publication, nothing when it is right.

    >>> publication_faults(Publication(tables=frozenset(), inserts=True, via_partition_root=True))
    ('add table outbox.outbox',)
    """
    if found is None:
        return (_CREATE_FAULT,)
    right = (OUTBOX_TABLE in found.tables, found.inserts, found.via_partition_root)
    return tuple(fault for fault, is_right in zip(_CHANGES, right, strict=True) if not is_right)


def put_publication_right(database_url: str, *, publication: str, faults: tuple[str, ...]) -> None:
    """Do what `publication_faults` said, in one transaction.

    Raises:
        PostgresError: no connection, or Postgres refused (the role has to own table and publication).
    """
    with connect(database_url) as conn, statement_errors():
        for fault in faults:
            query = _CREATE if fault == _CREATE_FAULT else _CHANGES[fault]
            conn.execute(sql.SQL(query).format(sql.Identifier(publication)))
