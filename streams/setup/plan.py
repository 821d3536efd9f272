"""The plan: what is wanted against what is there. Pure.

Place in the data's way: between the look (`facts`) and the steps (`run`). `--dry-run` shows exactly this.
Invariants: a plan that was carried out leaves an empty one. The slot comes after the migrations (decoding
needs the publication) and before the connector (no row may be committed that no slot keeps). Endpoints are
published last, when Debezium carries them to a topic that is there.
Nothing is dropped: what only dropping could solve is a problem, with what to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from connectors.counted import counted
from connectors.kafka.topics import CreateTopic, GrowTopic, plan_topics
from connectors.kafka_connect.connector import CONNECTOR_NAME, PUBLICATION_NAME, SLOT_NAME, config_difference
from connectors.kafka_connect.status import State
from connectors.postgres.publication import ROOT_FAULT, publication_faults
from streams.setup.facts import Facts, Wanted
from streams.setup.partitions import too_many
from streams.setup.steps import (
    ChangeConnector,
    ChangeTopic,
    CreateConnector,
    CreateSlot,
    FixPublication,
    Migrate,
    RestartConnector,
    ResumeConnector,
    Step,
    TellEndpoints,
)
from streams.topics import ENDPOINTS, EVENTS

__all__ = ["Plan", "make_plan"]


_PUBLICATION_MIGRATION = "0002"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps to take, problems that keep setup from taking any, and what to know although it works."""

    steps: tuple[Step, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def make_plan(wants: Wanted, facts: Facts) -> Plan:
    """Compare what is wanted with what is there."""
    return Plan(
        steps=tuple(_steps(wants, facts)),
        problems=(
            *_database_problems(facts),
            *_kafka_problems(wants, facts),
            *_connect_problems(wants, facts),
        ),
        warnings=tuple(_warnings(wants, facts)),
    )


def _steps(wants: Wanted, facts: Facts) -> Iterator[Step]:
    if facts.pending:
        yield Migrate(names=facts.pending)
    if faults := _publication_faults(facts):
        yield FixPublication(name=PUBLICATION_NAME, faults=faults)
    if facts.replication.slot is None:
        yield CreateSlot(name=SLOT_NAME)
    for change in plan_topics(wants.topics, facts.cluster.topics).changes:
        yield ChangeTopic(change=change)
    yield from _connector_steps(wants, facts)
    if facts.untold:
        yield TellEndpoints(missing=len(facts.untold), topic=ENDPOINTS)


def _publication_faults(facts: Facts) -> tuple[str, ...]:
    """Say what is wrong with the publication; a migration that is still to come makes it, or adds the table."""
    publication = facts.replication.publication
    faults = publication_faults(publication)
    if not any(name.startswith(_PUBLICATION_MIGRATION) for name in facts.pending):
        return faults
    return (
        () if publication is None else tuple(fault for fault in faults if not fault.startswith("add table"))
    )


def _connector_steps(wants: Wanted, facts: Facts) -> Iterator[Step]:
    if facts.config is None:
        yield CreateConnector(name=CONNECTOR_NAME)
        return
    differences = config_difference(facts.config, wants.connector)
    forget = facts.replication.slot is None or _position_is_useless(facts)
    if differences or forget:
        yield ChangeConnector(name=CONNECTOR_NAME, differences=differences, forget_position=forget)
    elif facts.status is not None and facts.status.failed:
        yield RestartConnector(name=CONNECTOR_NAME, reason=facts.status.failure)
    if facts.status is not None and facts.status.state in {State.PAUSED, State.STOPPED} and not forget:
        yield ResumeConnector(name=CONNECTOR_NAME)


def _position_is_useless(facts: Facts) -> bool:
    """Whether Connect's position is one that Postgres can't go on from.

    Behind the slot: the WAL between them is gone (the slot was made anew or moved by hand, or Kafka lost the
    newest positions), and the task fails at each start. Beyond the WAL's end: the database was restored or
    replaced, and Debezium would pass rows over until the WAL gets there.
    """
    slot, stored_lsn = facts.replication.slot, facts.stored_lsn
    if slot is None or stored_lsn is None:
        return False
    is_behind = facts.status is not None and facts.status.failed and stored_lsn < slot.confirmed_flush_lsn
    return is_behind or stored_lsn > facts.replication.current_lsn


def _database_problems(facts: Facts) -> Iterator[str]:
    database, slot = facts.replication, facts.replication.slot
    if database.wal_level != "logical":
        yield (
            f"Postgres has wal_level = {database.wal_level}, and Debezium needs logical:"
            " ALTER SYSTEM SET wal_level = 'logical', then restart Postgres"
            " (a hosted one has a parameter of its own for it, such as rds.logical_replication)"
        )
    if slot is None and not database.may_replicate:
        yield (
            f"the role {database.role} may not make a replication slot: ALTER ROLE {database.role} REPLICATION"
            " (on AWS: GRANT rds_replication)"
        )
    if slot is not None and slot.plugin != "pgoutput":
        yield (
            f"the replication slot {SLOT_NAME} uses the plugin {slot.plugin}, not pgoutput: somebody else made it;"
            f" when nobody needs it, SELECT pg_drop_replication_slot('{SLOT_NAME}') and run setup again"
        )
    elif slot is not None and slot.database != database.database:
        yield (
            f"the replication slot {SLOT_NAME} belongs to the database {slot.database}, not {database.database}:"
            " slot names are one server's, and two outboxes can't share a server yet"
        )
    elif slot is not None and slot.wal_status == "lost":
        yield (
            f"the replication slot {SLOT_NAME} is lost: Postgres removed WAL that Debezium had not read."
            f" SELECT pg_drop_replication_slot('{SLOT_NAME}'), run setup again, and append again what was committed"
            " meanwhile (docs/howto/recover-a-lost-slot.md)"
        )


def _kafka_problems(wants: Wanted, facts: Facts) -> Iterator[str]:
    topics = plan_topics(wants.topics, facts.cluster.topics)
    for mismatch in too_many(wants.topics, facts.cluster.topics):
        what_to_do = (
            f"set {mismatch.setting} to {mismatch.most}, in every process"
            if mismatch.setting
            else "stop the workers, delete the topic and run setup, which makes it and what is in it anew"
        )
        yield f"{mismatch}; topics can't shrink: {what_to_do}"
    brokers = len(facts.cluster.broker_ids)
    for change in topics.changes:
        if isinstance(change, CreateTopic) and change.topic.replication_factor > brokers:
            yield (
                f"OUTBOX_REPLICATION_FACTOR = {change.topic.replication_factor} needs as many brokers,"
                f" and there are {brokers}"
            )
            return


def _connect_problems(wants: Wanted, facts: Facts) -> Iterator[str]:
    plugin = wants.connector["connector.class"]
    if plugin not in facts.plugins:
        yield (
            f"Kafka Connect has no plugin {plugin}: put Debezium's PostgreSQL connector on its plugin path"
            " and restart it"
        )
    for complaint in facts.invalid:
        hint = (
            " (as seen from Kafka Connect: OUTBOX_CONNECTOR_DATABASE_URL)" if "database." in complaint else ""
        )
        yield f"Kafka Connect refuses the connector's {complaint}{hint}"


def _warnings(wants: Wanted, facts: Facts) -> Iterator[str]:
    if facts.replication.slot is None and facts.replication.outbox_rows:
        yield (
            f"{counted(facts.replication.outbox_rows, 'row')} in outbox.outbox from before the slot: rows"
            " committed while there was no slot will not be delivered, at most those after the newest event in"
            f" {EVENTS} (all, if it is empty); append them again (docs/howto/recover-a-lost-slot.md)"
        )
    if facts.replication.slot is not None and _leaves_out_rows(facts):
        yield (
            f"rows committed while the publication {PUBLICATION_NAME} left them out will not be delivered, at most"
            f" those after the newest event in {EVENTS}; append them again (docs/howto/recover-a-lost-slot.md)"
        )
    if _position_is_useless(facts):
        yield (
            "Kafka Connect's position is not one of this slot: what was committed since may not have been sent;"
            " compare, and append again what is missing (docs/howto/recover-a-lost-slot.md)"
        )
    for change in plan_topics(wants.topics, facts.cluster.topics).changes:
        if isinstance(change, GrowTopic) and change.name == EVENTS:
            yield (
                f"growing {EVENTS} moves keys to other partitions: events of one key that are in flight while it"
                " grows may overtake each other"
            )


def _leaves_out_rows(facts: Facts) -> bool:
    """Whether rows were committed, or may have been, that Postgres passes to nobody."""
    publication = facts.replication.publication
    is_whole = publication is not None and not {*_publication_faults(facts)} - {ROOT_FAULT}
    return not is_whole and bool(facts.replication.outbox_rows)
