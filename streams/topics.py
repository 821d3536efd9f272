"""The names of the topics and of the consumer groups: a contract between all processes, and with operators.

docs/reference/records.md says what stands in each. The router's replacement in debezium/connector.json
makes the first two kinds from the row's channel.
"""

from datetime import timedelta
from typing import Final

from streams.duration import format_duration

__all__ = [
    "ATTEMPTS",
    "DEAD_LETTER",
    "ENDPOINTS",
    "EVENTS",
    "LETTERS_GROUP",
    "RECORDER_GROUP",
    "REDELIVERY",
    "SCHEDULER_GROUP",
    "WORKER_GROUP",
    "retry_topic",
]

EVENTS: Final = "outbox.events"
REDELIVERY: Final = "outbox.redelivery"
DEAD_LETTER: Final = "outbox.dead-letter"
ATTEMPTS: Final = "outbox.attempts"
ENDPOINTS: Final = "outbox.endpoints"

WORKER_GROUP: Final = "outbox-worker"
SCHEDULER_GROUP: Final = "outbox-scheduler"
RECORDER_GROUP: Final = "outbox-recorder"
LETTERS_GROUP: Final = "outbox-recorder-letters"


def retry_topic(delay: timedelta) -> str:
    """The name of a tier's topic.

    >>> retry_topic(timedelta(minutes=15))
    'outbox.retry-15m'
    """
    return f"outbox.retry-{format_duration(delay)}"
