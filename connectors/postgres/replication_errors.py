"""What can go wrong while Postgres is prepared for Debezium.

    ReplicationError
    ├── DatabaseUnreachable   no connection, or no right to look
    └── SlotRefused           Postgres made no replication slot

libpq's messages are kept: they name host, port, user and database, and no password.
"""

import psycopg
from psycopg import errors

__all__ = ["DatabaseUnreachable", "ReplicationError", "SlotRefused"]


class ReplicationError(Exception):
    """Postgres could not be prepared for Debezium."""


class DatabaseUnreachable(ReplicationError):  # noqa: N818 - it names the state the database is in
    """Postgres could not be asked."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(f"Postgres can't be asked: {_one_line(error)}. Check OUTBOX_DATABASE_URL.")


class SlotRefused(ReplicationError):  # noqa: N818 - it names what happened
    """Postgres made no replication slot."""

    def __init__(self, slot: str, error: psycopg.Error) -> None:
        super().__init__(f"Postgres made no replication slot {slot}: {_one_line(error)}. {_advice(error)}")


def _advice(error: psycopg.Error) -> str:
    match error:
        case errors.InsufficientPrivilege():
            return "Give the role the right: ALTER ROLE … REPLICATION (or GRANT rds_replication on AWS)."
        case errors.QueryCanceled():
            return "It waits for open transactions: find the oldest in pg_stat_activity, end it, run setup again."
        case errors.ConfigurationLimitExceeded():
            return "Raise max_replication_slots, or drop a slot that nobody uses, and run setup again."
        case errors.ObjectNotInPrerequisiteState():
            return "Set wal_level = logical and restart Postgres."
        case _:
            return "Put that right, and run setup again."


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split()).rstrip(".")
