"""An environment in which all is well, as values; tests take one thing of it away."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import SecretStr

from connectors.kafka.admin import Cluster
from connectors.kafka.topics import ExistingTopic
from connectors.kafka_connect.status import ConnectorStatus, State, TaskStatus
from connectors.postgres.replication import Publication, Replication, Slot
from streams.settings import Settings
from streams.setup.facts import Facts, wanted

__all__ = ["CLUSTER", "FACTS", "REPLICATION", "RUNNING", "SETTINGS", "SLOT", "WANTS", "failed", "with_topic"]

SETTINGS = Settings(
    database_url=SecretStr("postgresql://app:secret@db/shop"),
    kafka_bootstrap_servers="kafka:9092",
    connect_url="http://connect:8083",
    replication_factor=3,
    min_insync_replicas=2,
)
WANTS = wanted(SETTINGS)
SLOT = Slot(
    plugin="pgoutput",
    database="shop",
    active=True,
    wal_status="reserved",
    confirmed_flush_lsn=900,
    retained_bytes=500,
    unconfirmed_bytes=100,
)
REPLICATION = Replication(
    server_version=180004,
    database="shop",
    role="app",
    wal_level="logical",
    encoding="UTF8",
    max_slot_wal_keep_bytes=None,
    may_replicate=True,
    current_lsn=1_000,
    publication=Publication(tables=frozenset({"outbox.outbox"}), inserts=True, via_partition_root=True),
    slot=SLOT,
    outbox_rows=0,
    clock=datetime(2026, 1, 1, tzinfo=UTC),
)
CLUSTER = Cluster(
    broker_ids=(1, 2, 3),
    topics={
        topic.name: ExistingTopic(
            name=topic.name, partitions=topic.partitions, replication_factor=3, config=topic.config
        )
        for topic in WANTS.topics
    },
    broker_config={"auto.create.topics.enable": "false"},
)
RUNNING = ConnectorStatus(
    name="outbox", state=State.RUNNING, tasks=(TaskStatus(number=0, state=State.RUNNING, worker="w"),)
)
FACTS = Facts(
    pending=(),
    replication=REPLICATION,
    cluster=CLUSTER,
    plugins=frozenset({"io.debezium.connector.postgresql.PostgresConnector"}),
    invalid=(),
    config={**WANTS.connector, "name": "outbox"},
    stored_lsn=950,
    status=RUNNING,
    untold=frozenset(),
)


def failed(reason: str) -> ConnectorStatus:
    return replace(RUNNING, tasks=(TaskStatus(number=0, state=State.FAILED, worker="w", reason=reason),))


def with_topic(
    name: str, *, partitions: int | None = None, config: Mapping[str, str] | None = None
) -> Cluster:
    """The cluster with one topic changed, or one more."""
    before = CLUSTER.topics.get(name, ExistingTopic(name=name, partitions=6, replication_factor=3))
    after = replace(
        before, partitions=partitions or before.partitions, config={**before.config, **(config or {})}
    )
    return replace(CLUSTER, topics={**CLUSTER.topics, name: after})
