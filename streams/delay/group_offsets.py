"""What the broker says of lanes when they are assigned: the group's offsets, and whether there are records."""

import structlog
from confluent_kafka import Consumer, KafkaException, TopicPartition

__all__ = ["committed_offsets", "has_records"]

_log = structlog.get_logger("streams.delay")

_COMMITTED_TRIES = 6
_COMMITTED_TIMEOUT_S = 5.0


def committed_offsets(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """What the group committed; asked again while the broker is away, because guessing would repeat a whole tier."""
    for _ in range(_COMMITTED_TRIES - 1):
        try:
            return consumer.committed(partitions, timeout=_COMMITTED_TIMEOUT_S)
        except KafkaException as exception:
            _log.warning("committed_unknown", error=exception.args[0].str())
    return consumer.committed(partitions, timeout=_COMMITTED_TIMEOUT_S)


def has_records(consumer: Consumer, tp: TopicPartition) -> bool:
    """Whether the partition holds records, or once did; unknown counts as yes."""
    try:
        return bool(consumer.get_watermark_offsets(tp, timeout=_COMMITTED_TIMEOUT_S)[1])
    except KafkaException:
        return True
