"""A look at Postgres, Kafka and Kafka Connect, taken before anything is planned. Changes nothing.

Place in the data's way: setup's and doctor's eyes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.kafka.admin import Cluster, KafkaAdmin
from connectors.kafka.topics import Topic
from connectors.kafka_connect.client import ConnectClient
from connectors.kafka_connect.connector import CONNECTOR_NAME, PUBLICATION_NAME, SLOT_NAME, connector_config
from connectors.kafka_connect.status import ConnectorStatus
from connectors.postgres.replication import Replication, read_replication
from connectors.postgres.schema import pending
from streams.settings import Settings
from streams.setup.endpoints import stored_endpoints, untold_endpoints
from streams.setup.topics import wanted_topics
from streams.topics import ENDPOINTS

__all__ = ["Facts", "Wanted", "gather", "wanted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the settings ask for; `connector` holds a password."""

    topics: tuple[Topic, ...]
    connector: Mapping[str, str]

    def __repr__(self) -> str:
        """Keep the connector's password out of tracebacks."""
        return f"Wanted(topics={len(self.topics)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is there.

    `invalid` is what Connect says against the wanted configuration; `config` may hold a password;
    `stored_lsn` is the position in the WAL that Connect keeps for the connector; `untold` are the endpoints in
    Postgres that the workers' topic lacks.
    """

    pending: tuple[str, ...]
    replication: Replication
    cluster: Cluster
    plugins: frozenset[str]
    invalid: tuple[str, ...]
    config: Mapping[str, str] | None
    stored_lsn: int | None
    status: ConnectorStatus | None
    untold: frozenset[str]

    def __repr__(self) -> str:
        """Keep the connector's password out of tracebacks."""
        return f"Facts(pending={self.pending!r}, status={self.status!r})"


def wanted(settings: Settings) -> Wanted:
    """Say what the settings ask for."""
    return Wanted(
        topics=wanted_topics(settings),
        connector=connector_config(
            settings.connector_database.get_secret_value(),
            poll_interval_ms=settings.connector_poll_interval_ms,
        ),
    )


async def gather(settings: Settings, wants: Wanted, connect: ConnectClient) -> Facts:
    """Look at everything; the first that can't be reached is the error."""
    database_url = settings.database_url.get_secret_value()
    names = [topic.name for topic in wants.topics]
    plugins = await connect.plugins()
    known = wants.connector["connector.class"] in plugins
    # The slot before the position: Debezium moves the position first, so it is never behind in this order.
    replication = read_replication(database_url, slot=SLOT_NAME, publication=PUBLICATION_NAME)
    cluster = KafkaAdmin(settings.kafka_bootstrap_servers).cluster(with_config_of=names)
    stored = stored_endpoints(settings)
    return Facts(
        pending=pending(database_url),
        replication=replication,
        cluster=cluster,
        plugins=plugins,
        invalid=await connect.invalid_settings({"name": CONNECTOR_NAME, **wants.connector}) if known else (),
        config=await connect.config(CONNECTOR_NAME),
        stored_lsn=await connect.stored_lsn(CONNECTOR_NAME),
        status=await connect.status(CONNECTOR_NAME),
        untold=untold_endpoints(settings, stored, has_topic=ENDPOINTS in cluster.topics),
    )
