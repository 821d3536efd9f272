"""Consumer groups as Kafka sees them: how many partitions the members of one own.

Place in the data's way: none; asked by who waits for started processes to be at work. Changes nothing.
"""

from collections.abc import Mapping
from datetime import timedelta

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

__all__ = ["ConsumerGroups"]


class ConsumerGroups:
    """A connection for such questions. Blocking.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        timeout: limit of each request.
    """

    def __init__(self, bootstrap_servers: str, *, timeout: timedelta = timedelta(seconds=10)) -> None:
        self._timeout_s = timeout.total_seconds()
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
