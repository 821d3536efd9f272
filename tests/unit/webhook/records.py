"""Records for the webhook tests, with all that doesn't matter filled in."""

from datetime import UTC, datetime, timedelta

from connectors.webhook.answer import NoAnswer, NoAnswerReason, Responded, Stage
from connectors.webhook.endpoint import Endpoint
from connectors.webhook.request import Request
from connectors.webhook.secret import Secret
from outbox.event_filter import EventFilter

__all__ = ["NOW", "SECRET", "endpoint", "no_answer", "request", "responded"]

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SECRET = Secret.parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")


def endpoint(
    url: str = "https://receiver.example/in",
    *,
    event_types: tuple[str, ...] = ("*",),
    secrets: tuple[Secret, ...] = (SECRET,),
) -> Endpoint:
    return Endpoint(
        id="ep_1",
        url=url,
        event_types=tuple(EventFilter(pattern) for pattern in event_types),
        secrets=secrets,
        created_at=NOW,
    )


def request(to: Endpoint | None = None, **changes: object) -> Request:
    fields: dict[str, object] = {
        "endpoint": to or endpoint(),
        "message_id": "0197a5d2-6a4e-7cc1-9d3c-2b6a1f0e4d5c",
        "timestamp": NOW,
        "body": b'{"order": 42}',
    }
    return Request(**(fields | changes))  # type: ignore[arg-type]


def responded(status: int, *, retry_after: str | None = None, location: str | None = None) -> Responded:
    return Responded(
        status=status,
        retry_after=retry_after,
        location=location,
        excerpt=b"",
        is_excerpt_whole=True,
        dialled="192.0.2.1:443",
        duration=timedelta(milliseconds=3),
    )


def no_answer(reason: NoAnswerReason, detail: str = "192.0.2.1:443: what happened") -> NoAnswer:
    return NoAnswer(reason=reason, stage=Stage.CONNECT, detail=detail, duration=timedelta(milliseconds=3))
