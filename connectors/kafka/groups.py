"""Consumer groups as Kafka sees them: how many partitions the members of one own, and how far it is behind.

Place in the data's way: none; asked by who waits for started processes to be at work, and by the doctor. Changes
nothing.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Literal

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.errors import ClusterUnreachable

__all__ = ["ConsumerGroups"]


class ConsumerGroups:
    """A connection for such questions. Blocking.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        timeout: limit of each request.
    """

    def __init__(self, bootstrap_servers: str, *, timeout: timedelta = timedelta(seconds=10)) -> None:
        self._timeout_s = timeout.total_seconds()
        self._servers = bootstrap_servers
        # No answer counts as none owned; librdkafka would write its reason to stderr, again and again.
        self._client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def owned_partitions(self, group: str) -> Mapping[str, int]:
        """How many partitions each member owns, by member id; empty while they share them out, or without such a group.

        A member that was killed is among them until its session times out.
        """
        future = self._client.describe_consumer_groups([group], request_timeout=self._timeout_s)[group]
        try:
            description = future.result()
        except KafkaException:
            return {}
        if description.state is not ConsumerGroupState.STABLE:
            return {}
        return {member.member_id: len(member.assignment.topic_partitions) for member in description.members}

    def behind(self, group: str, topic: str) -> int | None:
        """How many records of a topic a group has yet to commit; None where it never committed any.

        Raises:
            ClusterUnreachable: no broker answered in time.
        """
        try:
            asked = ConsumerGroupTopicPartitions(group)
            answers: Any = self._client.list_consumer_group_offsets([asked], request_timeout=self._timeout_s)
            committed: dict[int, int] = {
                tp.partition: tp.offset
                for tp in answers[group].result().topic_partitions or ()
                if tp.topic == topic and tp.offset >= 0
            }
            if not committed:
                return None
            numbers = self._client.list_topics(timeout=self._timeout_s).topics[topic].partitions
            ends, begins = (self._offsets(topic, numbers, spec) for spec in ("latest", "earliest"))
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
        left = (ends[number] - max(committed.get(number, 0), begins[number]) for number in numbers)
        return sum(max(number, 0) for number in left)

    def _offsets(
        self, topic: str, numbers: Iterable[int], which: Literal["latest", "earliest"]
    ) -> Mapping[int, int]:
        spec = getattr(OffsetSpec, which)()
        wanted = {TopicPartition(topic, number): spec for number in numbers}
        futures = self._client.list_offsets(wanted, request_timeout=self._timeout_s)
        return {tp.partition: future.result().offset for tp, future in futures.items()}
