"""The doctor's look: Postgres, Kafka, Kafka Connect and the clocks. Changes nothing.

Place in the data's way: beside it, from the outside. What can't be reached is a fact like any other: the rest
is looked at all the same, because in a bad hour the half that answers is what there is.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from connectors.kafka.admin import Cluster, KafkaAdmin
from connectors.kafka.errors import KafkaEdgeError
from connectors.kafka.groups import ConsumerGroups
from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import CONNECTOR_NAME, PUBLICATION_NAME, SLOT_NAME
from connectors.kafka_connect.errors import ConnectEdgeError
from connectors.kafka_connect.status import ConnectorStatus
from connectors.postgres.connection import connect, statement_errors
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.errors import PostgresError
from connectors.postgres.log_partitions import may_make_days
from connectors.postgres.replication import Replication, read_replication
from connectors.postgres.schema import pending
from connectors.postgres.sealings import SealingCount, count_sealings
from streams.settings import Settings
from streams.setup.endpoints import stored_endpoints, untold_endpoints
from streams.setup.facts import Wanted, wanted
from streams.setup.topics import HEARTBEAT
from streams.topics import ATTEMPTS, ENDPOINTS, RECORDER_GROUP

__all__ = [
    "LATELY",
    "ConnectFacts",
    "DatabaseFacts",
    "EndpointFacts",
    "Facts",
    "KafkaFacts",
    "Unreachable",
    "gather",
]

LATELY = timedelta(days=1)
_ANSWER_WITHIN = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """Something that gave no answer, in the words of its connector."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """Postgres.

    `clock_ahead` is how far its clock is before ours, known to within `round_trip`; `sealings` is how what endpoints
    keep secret is stored, and empty where the schema is not up to date; `may_make_days` is whether our role could make
    and drop partitions of the delivery log; `disabled_lately` how many endpoints were disabled automatically within
    `LATELY`.
    """

    pending: tuple[str, ...]
    replication: Replication
    clock_ahead: timedelta
    round_trip: timedelta
    sealings: tuple[SealingCount, ...] = ()
    may_make_days: bool = True
    disabled_lately: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaFacts:
    """Kafka; `heartbeat_age` is None when there never was a heartbeat.

    `unrecorded` is how many attempt records the recorder has yet to write, None when no recorder ever ran.
    """

    cluster: Cluster
    heartbeat_age: timedelta | None
    recorders: int = 0
    unrecorded: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectFacts:
    """Kafka Connect; `stored_lsn` is the newest position in the WAL that it keeps for the connector."""

    plugins: frozenset[str]
    config: Mapping[str, str] | None
    status: ConnectorStatus | None
    stored_lsn: int | None

    def __repr__(self) -> str:
        """Keep the connector's password out of tracebacks."""
        return f"ConnectFacts(status={self.status!r}, stored_lsn={self.stored_lsn})"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts:
    """The ids of the endpoints in Postgres, and of those that the workers' topic lacks."""

    stored: frozenset[str]
    untold: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything the checks look at; `endpoints` is None where Postgres or Kafka gave no answer."""

    settings: Settings
    wants: Wanted
    database: DatabaseFacts | Unreachable
    kafka: KafkaFacts | Unreachable
    connect: ConnectFacts | Unreachable
    endpoints: EndpointFacts | Unreachable | None


async def gather(settings: Settings) -> Facts:
    """Look at everything at once."""
    database, kafka, connector = await asyncio.gather(
        asyncio.to_thread(_database, settings), asyncio.to_thread(_kafka, settings), _connect(settings)
    )
    endpoints = None
    if isinstance(database, DatabaseFacts) and isinstance(kafka, KafkaFacts):
        endpoints = await asyncio.to_thread(_endpoints, settings, kafka.cluster)
    return Facts(
        settings=settings,
        wants=wanted(settings),
        database=database,
        kafka=kafka,
        connect=connector,
        endpoints=endpoints,
    )


def _database(settings: Settings) -> DatabaseFacts | Unreachable:
    url = settings.database_url.get_secret_value()
    try:
        migrations = pending(url)
        asked_at = datetime.now(UTC)
        replication = read_replication(url, slot=SLOT_NAME, publication=PUBLICATION_NAME)
        answered_at = datetime.now(UTC)
        sealings, may_make, disabled = ((), True, 0) if migrations else _of_the_tables(url)
    except PostgresError as error:
        return Unreachable(reason=str(error))
    round_trip = answered_at - asked_at
    return DatabaseFacts(
        pending=migrations,
        replication=replication,
        clock_ahead=replication.clock - (asked_at + round_trip / 2),
        round_trip=round_trip,
        sealings=sealings,
        may_make_days=may_make,
        disabled_lately=disabled,
    )


def _of_the_tables(url: str) -> tuple[tuple[SealingCount, ...], bool, int]:
    with connect(url) as connection, statement_errors():
        disabled = EndpointHealthTable(connection).disabled_lately(within=LATELY)
        return count_sealings(connection), may_make_days(connection), disabled


def _kafka(settings: Settings) -> KafkaFacts | Unreachable:
    admin = KafkaAdmin(settings.kafka_bootstrap_servers, timeout=_ANSWER_WITHIN)
    try:
        names = [topic.name for topic in wanted(settings).topics]
        cluster = admin.cluster(with_config_of=names)
        newest = admin.newest_timestamp(HEARTBEAT) if HEARTBEAT in cluster.topics else None
        groups = ConsumerGroups(settings.kafka_bootstrap_servers, timeout=_ANSWER_WITHIN)
        unrecorded = groups.behind(RECORDER_GROUP, ATTEMPTS) if ATTEMPTS in cluster.topics else None
        recorders = len(groups.owned_partitions(RECORDER_GROUP))
    except KafkaEdgeError as error:
        return Unreachable(reason=str(error))
    age = None if newest is None else datetime.now(UTC) - newest
    return KafkaFacts(cluster=cluster, heartbeat_age=age, recorders=recorders, unrecorded=unrecorded)


def _endpoints(settings: Settings, cluster: Cluster) -> EndpointFacts | Unreachable:
    try:
        stored = stored_endpoints(settings)
        untold = untold_endpoints(settings, stored, has_topic=ENDPOINTS in cluster.topics)
    except (PostgresError, KafkaEdgeError) as error:
        return Unreachable(reason=str(error))
    return EndpointFacts(stored=stored, untold=untold)


async def _connect(settings: Settings) -> ConnectFacts | Unreachable:
    try:
        async with ConnectClient(settings.connect_url, timeout=_ANSWER_WITHIN) as connect:
            return ConnectFacts(
                plugins=await connect.plugins(),
                config=await connect.config(CONNECTOR_NAME),
                status=await connect.status(CONNECTOR_NAME),
                stored_lsn=await connect.stored_lsn(CONNECTOR_NAME),
            )
    except ConnectEdgeError as error:
        return Unreachable(reason=str(error))
