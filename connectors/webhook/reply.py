"""What one exchange on a connection, or the try to make one, came to: the connector's own inner record.

Place in the data's way: made by `response`, `connection` and `dial`; the sender turns it into an
`answer.Answer`.
"""

from dataclasses import dataclass

from connectors.webhook.answer import NoAnswerReason, Stage

__all__ = ["Failure", "Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """A response, read to its end or cut off after its head."""

    status: int
    retry_after: str | None
    location: str | None
    excerpt: bytes
    is_excerpt_whole: bool


@dataclass(frozen=True, slots=True)
class Failure:
    """No response; `is_unanswered_loss` where the connection was lost before a byte of one had come."""

    reason: NoAnswerReason
    stage: Stage
    detail: str
    is_unanswered_loss: bool = False
