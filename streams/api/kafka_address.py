"""Where Kafka is, for the operations that need it. The API starts without being told, and everything else works.

Place in the data's way: asked first by an operation that is about to use Kafka. Invariant: all of them answer alike,
so that it can be told apart from a Kafka that is away, which passes without anybody's doing.
"""

from typing import Final

from streams.api.problem import Problem, ProblemError

__all__ = ["kafka_address"]

_NOT_SET: Final = Problem(
    kind="kafka-not-set",
    detail="This needs Kafka, and OUTBOX_KAFKA_BOOTSTRAP_SERVERS is not set for this API. Set it, and restart the API; "
    "replays can also be asked for on the command line, where it is set.",
)


def kafka_address(bootstrap_servers: str) -> str:
    """The brokers that the settings name.

    Raises:
        ProblemError: they name none.

    >>> kafka_address("kafka-1:9092,kafka-2:9092")
    'kafka-1:9092,kafka-2:9092'
    """
    if not bootstrap_servers:
        raise ProblemError(_NOT_SET)
    return bootstrap_servers
