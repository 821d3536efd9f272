"""What the sender is asked to send: one attempt at one endpoint.

Place in the data's way: made by the dispatcher for each attempt, read by `wire` and `sender`. Making one
checks nothing, so that a bad event ends as an answer with a reason, not as an exception in the dispatcher.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from connectors.webhook.endpoint import Endpoint

__all__ = ["Request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One attempt. The endpoint is the one that holds now, not the one of an earlier attempt.

    Attributes:
        message_id: the event's id; the same on every attempt, replay and re-read (INV-4).
        timestamp: when this attempt starts; aware. It is signed in whole seconds.
        body: the payload; signed and sent as these very bytes (INV-5).
        content_type: the payload's media type.
        headers: further headers for the receiver. Those that the sender writes itself may not be among them.
    """

    endpoint: Endpoint
    message_id: str
    timestamp: datetime
    body: bytes = field(repr=False)
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
