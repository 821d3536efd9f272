"""What can go wrong at Kafka's edge.

KafkaEdgeError
├── ProducerFatal       the producer can't continue (a lost sequence, no right to write): restart the process
├── ClusterUnreachable  an administrative question got no answer
├── TopicChangeFailed   Kafka refused to create or change a topic
├── TopicMissing        a topic that was asked about is not there
├── GroupNotEmpty       offsets were to be set for a group that has a member
├── OffsetsUncertain    which offsets were set, not all or nobody knows
└── TopicUnreadable     a topic that must be read whole is missing
    └── TopicUnanswered it may be there, and gives no answer: try again
"""

__all__ = [
    "ClusterUnreachable",
    "GroupNotEmpty",
    "KafkaEdgeError",
    "OffsetsUncertain",
    "ProducerFatal",
    "TopicChangeFailed",
    "TopicMissing",
    "TopicUnanswered",
    "TopicUnreadable",
]


class KafkaEdgeError(Exception):
    """Kafka, or the client for it, could not do what was asked."""


class ProducerFatal(KafkaEdgeError):  # noqa: N818 - it names the state the producer is in
    """The producer is broken for good; nothing further will be acknowledged by it. Restart the process."""


class ClusterUnreachable(KafkaEdgeError):  # noqa: N818 - it names the state the cluster is in
    """No broker answered an administrative question."""

    def __init__(self, servers: str, reason: str) -> None:
        super().__init__(
            f"Kafka at {servers} gave no answer: {reason}. Is it running, and is that its address from here?"
        )


class TopicChangeFailed(KafkaEdgeError):  # noqa: N818 - it names what happened
    """Kafka refused a change of a topic."""

    def __init__(self, change: str, reason: str) -> None:
        super().__init__(f"could not {change}. Kafka says: {reason}")


class TopicMissing(KafkaEdgeError):  # noqa: N818 - it names the state the topic is in
    """A topic that was asked about is not there."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"Kafka has no topic {topic}: run `outbox setup`, with the settings that this process has"
        )


class GroupNotEmpty(KafkaEdgeError):  # noqa: N818 - it names the state the group is in
    """Kafka sets offsets for a group without members only. Nothing was changed."""

    def __init__(self, group: str) -> None:
        super().__init__(
            f"group {group} has a member: Kafka refused to set its offsets, and nothing was changed. "
            "Stop its processes, and try again"
        )


class OffsetsUncertain(KafkaEdgeError):  # noqa: N818 - it names the state the offsets are in
    """Some offsets were set and others not, or no answer came."""

    def __init__(self, group: str, reason: str) -> None:
        super().__init__(
            f"not all offsets of group {group} are known to be set: {reason}. Look where it stands before you go on"
        )


class TopicUnreadable(KafkaEdgeError):  # noqa: N818 - it names the state the topic is in
    """A topic that must be read whole can't be."""


class TopicUnanswered(TopicUnreadable):
    """No broker gives the topic's records just now."""
