"""The cluster's administration: what topics are there, and carrying out a `TopicsPlan`.

Place in the data's way: beside it; used by `outbox setup` and `outbox doctor` only, never by a process that
moves records. Invariants: asks for all topics at once, never for one by name, because asking by name makes a
broker with `auto.create.topics.enable` create it with that broker's defaults. Every request has a time limit.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from connectors.kafka.errors import ClusterUnreachable, TopicChangeFailed
from connectors.kafka.topics import ChangeConfig, CreateTopic, ExistingTopic, GrowTopic, TopicChange

__all__ = ["Cluster", "KafkaAdmin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster as it is; `broker_config` is one broker's, and empty when it may not be read."""

    broker_ids: tuple[int, ...]
    topics: Mapping[str, ExistingTopic]
    broker_config: Mapping[str, str]


class KafkaAdmin:
    """A connection for administration.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        timeout: limit of each request.
    """

    def __init__(self, bootstrap_servers: str, *, timeout: timedelta = timedelta(seconds=15)) -> None:
        self._servers = bootstrap_servers
        self._timeout_s = timeout.total_seconds()
        # What goes wrong is raised; librdkafka would also write it to stderr, again and again.
        self._client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def cluster(self, *, with_config_of: Iterable[str] = ()) -> Cluster:
        """Read the cluster, with the configuration of those topics that exist among `with_config_of`.

        Raises:
            ClusterUnreachable: no broker answered in time.
        """
        try:
            metadata = self._client.list_topics(timeout=self._timeout_s)
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
        configs = self._topic_configs([name for name in with_config_of if name in metadata.topics])
        topics = {
            name: ExistingTopic(
                name=name,
                partitions=len(topic.partitions),
                replication_factor=min((len(p.replicas) for p in topic.partitions.values()), default=0),
                config=configs.get(name, {}),
            )
            for name, topic in metadata.topics.items()
        }
        broker_ids = tuple(sorted(metadata.brokers))
        return Cluster(broker_ids=broker_ids, topics=topics, broker_config=self._broker_config(broker_ids[0]))

    def apply(self, changes: Sequence[TopicChange]) -> None:
        """Carry out a plan's changes.

        Raises:
            TopicChangeFailed: Kafka refused one, for the reason in the message; those before it are done.
        """
        for change in changes:
            self._wait(change, self._request(change))

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics and all their records. No command does: tests clean up with it.

        Raises:
            TopicChangeFailed: Kafka refused.
        """
        if not names:
            return
        for name, future in self._client.delete_topics(list(names), request_timeout=self._timeout_s).items():
            try:
                future.result(self._timeout_s)
            except KafkaException as error:
                raise TopicChangeFailed(f"delete topic {name}", error.args[0].str()) from error

    def newest_timestamp(self, topic: str, partition: int = 0) -> datetime | None:
        """Give the time of the newest record of a partition, None when it has none."""
        where = TopicPartition(topic, partition)
        futures = self._client.list_offsets(
            {where: OffsetSpec.max_timestamp()},  # type: ignore[no-untyped-call]
            request_timeout=self._timeout_s,
        )
        newest_ms = self._result(futures[where]).timestamp
        return datetime.fromtimestamp(newest_ms / 1000, tz=UTC) if newest_ms >= 0 else None

    def _request(self, change: TopicChange) -> Future[Any]:
        match change:
            case CreateTopic(topic):
                new = NewTopic(
                    topic.name,
                    num_partitions=topic.partitions,
                    replication_factor=topic.replication_factor,
                    config=dict(topic.config),
                )
                futures = self._client.create_topics([new], request_timeout=self._timeout_s)
                return futures[topic.name]
            case GrowTopic(name=name, to_partitions=partitions):
                grown = NewPartitions(name, partitions)
                return self._client.create_partitions([grown], request_timeout=self._timeout_s)[name]
            case ChangeConfig(name=name, after=after):
                entries = [
                    ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
                    for key, value in after.items()
                ]
                resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
                (future,) = self._client.incremental_alter_configs(
                    [resource], request_timeout=self._timeout_s
                ).values()
                return future

    def _wait(self, change: TopicChange, future: Future[Any]) -> None:
        try:
            future.result(self._timeout_s)
        except KafkaException as error:
            if isinstance(change, CreateTopic) and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return  # another setup was quicker
            raise TopicChangeFailed(str(change), error.args[0].str()) from error

    def _topic_configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        if not resources:
            return {}
        futures = self._client.describe_configs(resources, request_timeout=self._timeout_s)
        return {resource.name: self._entries(future) for resource, future in futures.items()}

    def _broker_config(self, broker_id: int) -> Mapping[str, str]:
        """Read one broker's configuration; empty where this client may not, as on many hosted clusters."""
        resource = ConfigResource(ResourceType.BROKER, str(broker_id))
        (future,) = self._client.describe_configs([resource], request_timeout=self._timeout_s).values()
        try:
            return self._entries(future)
        except ClusterUnreachable:
            return {}

    def _entries(self, future: Future[Any]) -> Mapping[str, str]:
        return {key: entry.value for key, entry in self._result(future).items()}

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result(self._timeout_s)
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
