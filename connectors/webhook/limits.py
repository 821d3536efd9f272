"""What the sender allows a receiver to take: time, bytes and sockets."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final

__all__ = ["Limits"]

_MAX_TIME: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one sender. Standard Webhooks 1.0.0 recommends 15 to 30 s for a request.

    Attributes:
        connect: look-up of the name, TCP and TLS together, over all addresses of the host.
        first_byte: from handing the request to the socket to the first byte of an answer.
        total: the whole attempt, from the call to the end of the response.
        response_head_bytes: status line and headers, interim (1xx) responses included.
        response_bytes: all that is read of one response; a longer one is cut off and its connection closed.
        excerpt_bytes: what is kept of the decoded body. No more than that is ever decoded.
        idle: how long an unused connection is kept.
        idle_connections: unused connections kept in all.
        idle_connections_per_origin: unused connections kept for one scheme, host and port.
        name_ttl: how long the addresses of a name, or the failure to find any, are remembered.
        names: how many names are remembered.

    Raises:
        ValueError: a limit is not positive, too long, or contradicts another.
    """

    connect: timedelta = timedelta(seconds=5)
    first_byte: timedelta = timedelta(seconds=15)
    total: timedelta = timedelta(seconds=20)
    response_head_bytes: int = 32 * 1024
    response_bytes: int = 64 * 1024
    excerpt_bytes: int = 1024
    idle: timedelta = timedelta(seconds=30)
    idle_connections: int = 1024
    idle_connections_per_origin: int = 64
    name_ttl: timedelta = timedelta(seconds=10)
    names: int = 1024

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if isinstance(value, timedelta) and not timedelta() < value <= _MAX_TIME:
                raise ValueError(f"{limit.name} must be longer than 0 and at most {_MAX_TIME}, not {value}")
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{limit.name} must be at least 1, not {value}")
        if self.response_head_bytes > self.response_bytes:
            raise ValueError(
                "response_head_bytes must not be more than response_bytes, which holds the head too"
            )
