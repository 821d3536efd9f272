"""What came back from an attempt: an HTTP response, or none and why.

Place in the data's way: made by the sender, read by `verdict.judge` and by whoever records the attempt. A
failure on the network is one of these, never an exception. Nothing in them comes from the request (INV-9);
`detail` never quotes the response.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

__all__ = ["Answer", "NoAnswer", "NoAnswerReason", "Responded", "Stage"]


class Stage(StrEnum):
    """How far an attempt had come."""

    REQUEST = "request"
    """The request could not be written down; nothing was dialled."""
    RESOLVE = "resolve"
    """The host's name was being looked up."""
    CONNECT = "connect"
    """A connection was being made: TCP, then TLS."""
    SENT = "sent"
    """The request was handed to the socket, no answer had begun. The receiver may have acted on it."""
    ANSWER = "answer"
    """The head of the answer had begun to come."""


class NoAnswerReason(StrEnum):
    """Why there is no response."""

    REQUEST_INVALID = "request_invalid"
    """The event's id, content type or headers are none that HTTP can carry."""
    ADDRESS_BLOCKED = "address_blocked"
    """The host has only addresses that may not be dialled."""
    NAME_UNRESOLVED = "name_unresolved"
    CONNECT_FAILED = "connect_failed"
    """Refused, unreachable, reset: no TCP connection to any of the host's addresses."""
    CONNECT_TIMEOUT = "connect_timeout"
    """No connection in time, the name's look-up and the TLS handshake included."""
    TLS_FAILED = "tls_failed"
    """The certificate is not valid for the host, or no common protocol version."""
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    CONNECTION_LOST = "connection_lost"
    """Closed or reset before the head of the answer was complete."""
    RESPONSE_MALFORMED = "response_malformed"
    """What came back is not HTTP/1.x."""
    RESPONSE_HEAD_TOO_LARGE = "response_head_too_large"
    SENDER_CLOSED = "sender_closed"
    """We were stopping. It says nothing about the receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Responded:
    """The head of a response was read to its end; that is what decides, whatever became of the body.

    Attributes:
        status: the status code as it came: three digits, so 0 to 999, of which HTTP knows 100 to 599.
        retry_after: the Retry-After header as it came, cut.
        location: the Location header as it came, cut.
        excerpt: the first bytes of the decoded body (1 KB at most); for whoever looks at the attempt.
        is_excerpt_whole: whether `excerpt` is all of the body.
        dialled: the address and port that were connected to.
        duration: from the call to the end of the response, or to where it was cut off.
    """

    status: int
    retry_after: str | None
    location: str | None
    excerpt: bytes = field(repr=False)
    is_excerpt_whole: bool
    dialled: str
    duration: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """No response. `detail` is one safe sentence for people."""

    reason: NoAnswerReason
    stage: Stage
    detail: str
    duration: timedelta


Answer = Responded | NoAnswer
