"""The topics that the settings ask for.

Place in the data's way: every record of this project stands in one of these; the names are
in `streams.topics`. Invariants: `outbox.events` and `outbox.redelivery`
have equal partition counts, so that one worker owns a key's first attempts and its retries. A topic on the
way of a delivery keeps its records for longer than any delivery may take. Room grows along the way: what fits
into `outbox.events` fits into every later topic with the headers it gains.
"""

from datetime import timedelta
from typing import Final

from connectors.kafka.topics import Topic
from streams.settings import Settings
from streams.topics import ATTEMPTS, DEAD_LETTER, ENDPOINTS, EVENTS, REDELIVERY, retry_topic

__all__ = ["HEARTBEAT", "MAX_MESSAGE_BYTES", "partitions_setting", "wanted_topics"]

# Debezium writes here while the outbox is idle; nothing reads it but `outbox doctor`, for the last one's
# time.
HEARTBEAT: Final = "__debezium-heartbeat.outbox"

# The largest payload, key and headers of a row take less than 1,000,000 bytes, and what retries add is cut
# at a few KB (outbox/payload.py). The difference is room for what nobody thought of: a record too large for
# the dead letters would be tried for ever (outpost #974).
MAX_MESSAGE_BYTES: Final = 2 * 1024 * 1024

_HEARTBEAT_KEPT = timedelta(days=1)


def wanted_topics(settings: Settings) -> tuple[Topic, ...]:
    """List every topic, in the order of the data's way."""
    kept = timedelta(hours=settings.retention_hours)
    dead_letters_kept = timedelta(hours=settings.dead_letter_retention_hours)
    flowing = [(EVENTS, settings.partitions), (REDELIVERY, settings.partitions)]
    flowing += [(retry_topic(tier), settings.lanes) for tier in settings.tiers]
    flowing += [(ATTEMPTS, settings.partitions)]
    return (
        *(_topic(name, partitions, settings, _deleted_after(kept)) for name, partitions in flowing),
        _topic(DEAD_LETTER, settings.partitions, settings, _deleted_after(dead_letters_kept)),
        _topic(ENDPOINTS, 1, settings, {"cleanup.policy": "compact"}),
        _topic(HEARTBEAT, 1, settings, _deleted_after(_HEARTBEAT_KEPT)),
    )


def partitions_setting(name: str) -> str | None:
    """Name the setting that a topic's partition count comes from; None where it is fixed.

    >>> partitions_setting("outbox.retry-1s"), partitions_setting("outbox.attempts")
    ('OUTBOX_LANES', 'OUTBOX_PARTITIONS')
    """
    if name in {ENDPOINTS, HEARTBEAT}:
        return None
    if name in {EVENTS, REDELIVERY, ATTEMPTS, DEAD_LETTER}:
        return "OUTBOX_PARTITIONS"
    return "OUTBOX_LANES"


def _topic(name: str, partitions: int, settings: Settings, cleanup: dict[str, str]) -> Topic:
    return Topic(
        name=name,
        partitions=partitions,
        replication_factor=settings.replication_factor,
        config={
            **cleanup,
            "max.message.bytes": str(MAX_MESSAGE_BYTES),
            # Retention counts from when Kafka got a record. By Debezium's time, that of the
            # commit, events that waited out a long outage in Postgres would be deleted on
            # arrival; by a worker's wrong clock, at any time.
            "message.timestamp.type": "LogAppendTime",
            "min.insync.replicas": str(settings.min_insync_replicas),
        },
    )


def _deleted_after(kept: timedelta) -> dict[str, str]:
    return {"cleanup.policy": "delete", "retention.ms": str(kept // timedelta(milliseconds=1))}
