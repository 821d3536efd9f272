"""Requests and limits for the sender's tests."""

from datetime import UTC, datetime, timedelta

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.limits import Limits
from connectors.webhook.names import IPAddress, Resolver
from connectors.webhook.request import Request
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter

__all__ = ["HASTY", "MESSAGE_ID", "hook", "resolver"]

MESSAGE_ID = "0197a5d2-6a4e-7cc1-9d3c-2b6a1f0e4d5c"

HASTY = Limits(
    connect=timedelta(seconds=0.3), first_byte=timedelta(seconds=0.2), total=timedelta(seconds=0.5)
)
"""For tests in which time has to run out."""


def hook(
    url: str,
    body: bytes = b'{"order": 42}',
    *,
    secrets: tuple[Secret, ...] = (),
    message_id: str = MESSAGE_ID,
    headers: dict[str, str] | None = None,
) -> Request:
    return Request(
        endpoint=Endpoint(
            id="ep_1",
            url=url,
            event_types=(EventFilter("*"),),
            secrets=secrets or (Secret.generate(),),
            created_at=datetime.now(UTC),
        ),
        message_id=message_id,
        timestamp=datetime.now(UTC),
        body=body,
        headers=headers or {},
    )


def resolver(*addresses: IPAddress) -> Resolver:
    """Every name has these addresses."""

    async def resolve(_host: str) -> tuple[IPAddress, ...]:
        return addresses

    return resolve
