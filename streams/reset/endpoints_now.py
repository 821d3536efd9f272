"""The endpoints as `outbox.endpoints` has them now: read whole, once.

Place in the data's way: beside it; for who asks whom an event would go to. What is sealed stays so: nothing is sent.
Blocking.
"""

from connectors.kafka.compacted import CompactedReader
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import WebhookError
from streams import topics

__all__ = ["endpoints_now"]


def endpoints_now(bootstrap_servers: str) -> tuple[Endpoint, ...]:
    """All endpoints, those that are disabled too. One whose record can't be read stays as it was, as in a worker.

    Raises:
        TopicUnreadable: the topic is missing, or no broker answers.
    """
    found: dict[bytes, Endpoint] = {}

    def apply(key: bytes, value: bytes | None) -> None:
        if value is None:
            found.pop(key, None)
            return
        try:
            found[key] = Endpoint.from_json(value)
        except WebhookError:
            return  # the workers' log says so

    reader = CompactedReader(
        bootstrap_servers, topic=topics.ENDPOINTS, client_id="outbox-reset-endpoints", apply=apply
    )
    try:
        reader.load()
    finally:
        reader.close()
    return tuple(found.values())
