"""Kafka Connect: does the connector run, is it configured as its records are read, does it go on? Pure.

Place in the data's way: after the facts. The connector's own converters win over the worker's, which Connect
tells
nobody: they are checked where they count.
"""

from collections.abc import Iterator
from datetime import timedelta

from connectors.kafka_connect.connector import CONNECTOR_NAME, config_difference
from connectors.kafka_connect.status import State
from connectors.postgres.replication import Replication
from streams.doctor.facts import ConnectFacts, DatabaseFacts, Facts, KafkaFacts, Unreachable
from streams.doctor.finding import Finding, error, ok, warning

__all__ = ["check"]

_SETUP = "Run outbox setup, which puts it right."
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_HEARTBEAT_REASON = "While the outbox is idle, Postgres keeps all WAL of other tables until the disk is full."
_REASONS = {
    **dict.fromkeys(
        _CONVERTERS,
        "Another converter encodes the bytes once more: handlers and receivers get other ones.",
    ),
    "extended.headers.enabled": "Each record carries four headers more, which nobody reads.",
    "heartbeat.interval.ms": _HEARTBEAT_REASON,
    "heartbeat.action.query": _HEARTBEAT_REASON,
    "snapshot.mode": "Another mode sends every row that is kept in the table, again, as a new event.",
    "tombstones.on.delete": "Deleted rows would become records without a value.",
    "slot.name": "The slot that setup made is read by nobody, and keeps WAL.",
    "publication.autocreate.mode": "The connector would change the publication that the migrations own.",
    "errors.tolerance": "With all, a record that Kafka refuses is dropped without a trace.",
    "producer.override.acks": "A record that one broker has may be lost with it.",
}
_HEARTBEATS_MISSED = 3
_HEARTBEAT_GRACE = timedelta(seconds=10)


def check(facts: Facts) -> Iterator[Finding]:
    """Check the connector."""
    match facts.connect:
        case Unreachable(reason=reason):
            yield error(
                "connect",
                reason,
                why="Nothing of the connector could be checked.",
                do="Check that Kafka Connect runs, and OUTBOX_CONNECT_URL.",
            )
        case ConnectFacts(config=None):
            yield error(
                "connector",
                f"there is no connector {CONNECTOR_NAME}",
                why="Committed events stay in Postgres.",
                do="Run outbox setup.",
            )
        case ConnectFacts() as connect:
            yield _status(connect)
            yield from _config(facts, connect)
            yield from _heartbeat(facts, connect)
            yield from _position(facts, connect)


def _status(connect: ConnectFacts) -> Finding:
    status = connect.status
    if status is not None and status.running:
        return ok("connector", f"the connector {CONNECTOR_NAME} and its task run")
    do = "A running outbox scheduler restarts what failed; the cause is in Kafka Connect's log."
    if status is None:
        what = "has no status"
    elif status.failed:
        what = f"failed: {status.failure}"
    else:
        what = "does not run: " + ", ".join([status.state, *(f"task {task.state}" for task in status.tasks)])
        if status.state in {State.PAUSED, State.STOPPED}:
            do = "Somebody brought it to rest, and the scheduler leaves it so. Run outbox setup, which resumes it."
    return error(
        "connector",
        f"the connector {CONNECTOR_NAME} {what}",
        why="Committed events stay in Postgres.",
        do=do,
    )


def _config(facts: Facts, connect: ConnectFacts) -> Iterator[Finding]:
    """Compare with what setup would install; what is known to bite has its own finding."""
    config, wants = connect.config or {}, facts.wants.connector
    ordinary = []
    for difference in config_difference(wants, config):
        name = difference.split(" ", 1)[0]
        reason = _REASONS.get(name) or (
            "Records look different from what is read." if name.startswith("transforms") else ""
        )
        if reason:
            check_name = "converters" if name in _CONVERTERS else "connector-config"
            what = f"{name} is {config.get(name, 'unset')}, not {wants.get(name, 'unset')}"
            yield error(check_name, what, why=reason, do=_SETUP)
        else:
            ordinary.append(difference)
    if ordinary:
        yield warning(
            "connector-config",
            f"the connector is configured otherwise than setup would: {', '.join(ordinary)}",
            why="The next outbox setup changes it back.",
            do="Run outbox setup, or put the difference into OUTBOX_ settings.",
        )
    if not config_difference(wants, config):
        yield ok(
            "connector-config",
            "the connector is configured as setup does: StringConverter, no extended headers",
        )


def _heartbeat(facts: Facts, connect: ConnectFacts) -> Iterator[Finding]:
    if not isinstance(facts.kafka, KafkaFacts):
        return
    interval_ms = (connect.config or {}).get("heartbeat.interval.ms", "0")
    interval = timedelta(milliseconds=int(interval_ms) if interval_ms.isdecimal() else 0)
    age = facts.kafka.heartbeat_age
    if not interval:
        return  # `_config` said it
    if age is not None and age <= _HEARTBEATS_MISSED * interval + _HEARTBEAT_GRACE:
        yield ok("heartbeat", f"the last heartbeat is {age.total_seconds():.0f} s old")
        return
    seen = (
        "there never was a heartbeat"
        if age is None
        else f"the last heartbeat is {age.total_seconds():.0f} s old"
    )
    yield warning(
        "heartbeat",
        f"{seen}, and one is due every {interval.total_seconds():.0f} s",
        why="Without it an idle outbox keeps Postgres' WAL, and a stuck connector looks like a quiet one.",
        do="Right after outbox setup, wait; else see Kafka Connect's log, and whether the connector may run the query.",
    )


def _position(facts: Facts, connect: ConnectFacts) -> Iterator[Finding]:
    """Find a position from another life of the database (restored, replaced), or from before the slot's."""
    if not isinstance(facts.database, DatabaseFacts) or connect.stored_lsn is None:
        return
    replication = facts.database.replication
    do = "Run outbox setup, which forgets it. Then see docs/howto/recover-a-lost-slot.md."
    if connect.stored_lsn > replication.current_lsn:
        yield error(
            "position",
            "Kafka Connect's stored position is beyond the end of Postgres' WAL",
            why="The database was restored or replaced, and Debezium passes its rows over until the WAL gets there.",
            do=do,
        )
    elif connect.status is not None and connect.status.failed and _is_behind(connect, replication):
        yield error(
            "position",
            "Kafka Connect's stored position is behind the replication slot's",
            why="Postgres has no WAL from there on, and the task fails at each start.",
            do=do,
        )
    else:
        yield ok("position", "Kafka Connect's stored position is in Postgres' WAL")


def _is_behind(connect: ConnectFacts, replication: Replication) -> bool:
    slot, stored_lsn = replication.slot, connect.stored_lsn
    return slot is not None and stored_lsn is not None and stored_lsn < slot.confirmed_flush_lsn
