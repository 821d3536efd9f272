"""A consumer group's members, what it has committed, and setting that while it has no member.

Place in the data's way: beside it; used by who resets offsets, and never by a process that moves records. What always
holds: offsets are set with their metadata, and by Kafka's own rule only while the group is empty. Blocking.
"""

from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from connectors.kafka.committed import GroupCommit, group_commits
from connectors.kafka.errors import ClusterUnreachable, GroupNotEmpty, OffsetsUncertain

__all__ = ["GroupMember", "GroupOffsets"]

#: What brokers answer who sets offsets beside a member: the first is a classic group's word, the second a newer one's.
_HAS_MEMBERS: Final = frozenset({KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP})
#: Refused before anything was written.
_NOTHING_DONE: Final = frozenset(
    {
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """Who is in a group. `host` is the address it connects from."""

    member_id: str
    client_id: str
    host: str


class GroupOffsets:
    """A connection for such questions.

    All methods raise `ClusterUnreachable` when no broker answers in time.

    Args:
        bootstrap_servers: host:port, several separated by commas.
        timeout: limit of each request.
    """

    def __init__(self, bootstrap_servers: str, *, timeout: timedelta = timedelta(seconds=15)) -> None:
        self._servers = bootstrap_servers
        self._timeout_s = timeout.total_seconds()
        self._client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})

    def members(self, group: str) -> tuple[GroupMember, ...]:
        """Who is in a group; nobody, where there is no such group. One that was killed is in it for a session."""
        future = self._client.describe_consumer_groups([group], request_timeout=self._timeout_s)[group]
        try:
            found = future.result(self._timeout_s)
        except KafkaException as exception:
            error: KafkaError = exception.args[0]
            if error.code() == KafkaError.GROUP_ID_NOT_FOUND:
                return ()
            raise ClusterUnreachable(self._servers, error.str()) from exception
        except FutureTimeoutError as error:
            raise self._silent() from error
        if found.state is ConsumerGroupState.DEAD:
            return ()
        return tuple(
            GroupMember(
                member_id=member.member_id, client_id=member.client_id, host=member.host.removeprefix("/")
            )
            for member in found.members
        )

    def commits(self, group: str, topic: str) -> Mapping[int, GroupCommit]:
        """What a group has committed of a topic's partitions."""
        found = group_commits(self._servers, group, timeout_s=self._timeout_s)
        return {number: commit for (of, number), commit in found.items() if of == topic}

    def put(self, group: str, topic: str, offsets: Mapping[int, int], *, metadata: str) -> None:
        """Set a group's offsets of a topic, and the metadata of each. What else it has committed stays.

        Raises:
            GroupNotEmpty: it has a member; nothing was changed.
            OffsetsUncertain: some may be set. Also where Ctrl-C ends the wait: the question is on its way.
        """
        places = [TopicPartition(topic, number, offset, metadata) for number, offset in offsets.items()]
        asked = ConsumerGroupTopicPartitions(group, places)
        future = self._client.alter_consumer_group_offsets([asked], request_timeout=self._timeout_s)[group]
        try:
            answer = future.result(self._timeout_s)
        except KafkaException as exception:
            self._refused(group, exception.args[0])
            raise AssertionError("unreachable: that raises") from exception
        except FutureTimeoutError as error:
            raise OffsetsUncertain(group, f"no answer within {self._timeout_s:g} s") from error
        except KeyboardInterrupt as interrupt:
            raise OffsetsUncertain(group, "interrupted before an answer came") from interrupt
        failed = {
            place.partition: place.error for place in answer.topic_partitions if place.error is not None
        }
        if len(failed) == len(places):
            # One question of one group: its answer is the same for all, unless a partition is wrong.
            self._refused(group, next(iter(failed.values())))
        if failed:
            reasons = ", ".join(f"partition {number}: {error.str()}" for number, error in failed.items())
            raise OffsetsUncertain(group, f"{len(failed)} of {len(places)} were refused ({reasons})")

    def _refused(self, group: str, error: KafkaError) -> None:
        if error.code() in _HAS_MEMBERS:
            raise GroupNotEmpty(group)
        if error.code() in _NOTHING_DONE:
            raise ClusterUnreachable(self._servers, error.str())
        raise OffsetsUncertain(group, error.str())

    def _silent(self) -> ClusterUnreachable:
        return ClusterUnreachable(self._servers, f"no answer within {self._timeout_s:g} s")
