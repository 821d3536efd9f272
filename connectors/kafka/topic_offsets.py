"""Where topics begin and end, which offset a time is, and what groups have committed. Changes nothing. Blocking.

Place in the data's way: none; asked by replays before they begin, and while they wait for others.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # the package has no __all__

from connectors.kafka.committed import committed_offsets
from connectors.kafka.errors import ClusterUnreachable, TopicUnreadable

__all__ = ["TopicOffsets"]

_MS: Final = timedelta(milliseconds=1)


class TopicOffsets:
    """A connection for such questions.

    All methods raise `ClusterUnreachable` when no broker answers in time, and `TopicUnreadable` for a topic that does
    not exist.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        timeout: limit of each request.
    """

    def __init__(self, bootstrap_servers: str, *, timeout: timedelta = timedelta(seconds=5)) -> None:
        self._servers = bootstrap_servers
        self._timeout_s = timeout.total_seconds()
        self._opened: AdminClient | None = None

    def begins(self, topic: str) -> Mapping[int, int]:
        """Per partition the first offset that is kept."""
        return self._offsets(topic, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # the stub forgot it

    def ends(self, topic: str) -> Mapping[int, int]:
        """Per partition the offset behind its last record."""
        return self._offsets(topic, OffsetSpec.latest())  # type: ignore[no-untyped-call]  # as above

    def at_time(self, topic: str, moment: datetime) -> Mapping[int, int]:
        """Per partition the first offset whose record is of that time or later; the end where there is none."""
        moment_ms = max(0, round(moment.timestamp() * 1000))
        ends = self.ends(topic)
        found = self._offsets(topic, OffsetSpec.for_timestamp(moment_ms))
        return {number: end if found[number] < 0 else found[number] for number, end in ends.items()}

    def committed(self, group: str, topic: str) -> Mapping[int, int]:
        """What a group has committed of a topic's partitions; those of which it has committed nothing are left out."""
        found = committed_offsets(self._servers, [group], timeout_s=self._timeout_s)
        return {number: offset for (of, number), offset in found.items() if of == topic}

    @property
    def _client(self) -> AdminClient:
        """Made when it is needed: who waits for work has no connection, and none of the client's threads."""
        if self._opened is None:
            self._opened = AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
        return self._opened

    def _offsets(self, topic: str, spec: Any) -> Mapping[int, int]:
        try:
            # All topics at once: asking for one by name makes some brokers create it.
            found = self._client.list_topics(timeout=self._timeout_s).topics.get(topic)
            if found is None or found.error is not None:
                raise TopicUnreadable(f"topic {topic} does not exist; run `outbox setup`")
            return self._listed(topic, found.partitions, spec)
        except KafkaException as error:
            raise ClusterUnreachable(self._servers, error.args[0].str()) from error
        except TimeoutError as error:
            # Our wait has the limit of the client's request, and may end first.
            reason = f"no offsets of {topic} within {self._timeout_s:g} s"
            raise ClusterUnreachable(self._servers, reason) from error

    def _listed(self, topic: str, numbers: Iterable[int], spec: Any) -> Mapping[int, int]:
        wanted = {TopicPartition(topic, number): spec for number in numbers}
        futures = self._client.list_offsets(wanted, request_timeout=self._timeout_s)
        return {tp.partition: future.result(self._timeout_s).offset for tp, future in futures.items()}
