"""Consumer groups as Kafka sees them: how many partitions the members of one own, and how far it is behind.

Place in the data's way: none; asked by who waits for started processes to be at work, by the doctor, and by the API for
who looks at the tiers. Changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Final

from confluent_kafka import ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.committed import committed_offsets
from connectors.kafka.errors import ClusterUnreachable, TopicMissing

__all__ = ["ConsumerGroups"]

#: A broker that is back is found within so long.
_RECONNECT_MS: Final = 1_000

_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]

_Place = tuple[str, int]
"""A partition: its topic, and its number."""

_Places = Mapping[_Place, int]
"""An offset for each partition."""


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
        self._client = AdminClient(
            {
                "bootstrap.servers": bootstrap_servers,
                "log_level": 0,
                "reconnect.backoff.max.ms": _RECONNECT_MS,
            }
        )

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
        committed = {place: at for place, at in self._committed([group]).items() if place[0] == topic}
        return self._left([topic], committed)[topic] if committed else None

    def waiting(self, groups: Mapping[str, Sequence[str]]) -> Mapping[str, int]:
        """How many records of each topic its group has yet to commit; of one that it never committed, all there are.

        Args:
            groups: the topics of each group; no topic is in two.

        Raises:
            ClusterUnreachable: no broker answered in time.
            TopicMissing: one of them is not there.
        """
        # Before the ends: what is committed meanwhile counts as waiting, and nothing is less than none.
        committed = self._committed(groups)
        return self._left([topic for topics in groups.values() for topic in topics], committed)

    def _committed(self, groups: Iterable[str]) -> _Places:
        return committed_offsets(self._servers, groups, timeout_s=self._timeout_s)

    def _left(self, topics: Sequence[str], committed: _Places) -> Mapping[str, int]:
        places = self._places(topics)
        ends, begins = (self._asked_offsets(places, spec) for spec in (_LATEST, _EARLIEST))
        left = dict.fromkeys(topics, 0)
        for place, future in ends.items():
            begin = self._result(begins[place]).offset
            left[place[0]] += max(self._result(future).offset - max(committed.get(place, 0), begin), 0)
        return left

    def _asked_offsets(self, places: Iterable[_Place], spec: OffsetSpec) -> Mapping[_Place, Future[Any]]:
        wanted = {TopicPartition(*place): spec for place in places}
        futures = self._client.list_offsets(wanted, request_timeout=self._timeout_s)
        return {(tp.topic, tp.partition): future for tp, future in futures.items()}

    def _places(self, topics: Sequence[str]) -> list[_Place]:
        try:
            # All topics: asked for by name, one that is missing might be made.
            found = self._client.list_topics(timeout=self._timeout_s).topics
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
        for topic in topics:
            if topic not in found:
                raise TopicMissing(topic)
        return [(topic, number) for topic in topics for number in found[topic].partitions]

    def _result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
