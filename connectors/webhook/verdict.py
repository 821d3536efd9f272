"""What an answer means for its delivery: done, over for good, or worth another attempt. Pure.

Place in the data's way: between the sender and the processor's retry policy, which alone counts attempts and
picks the wait. The one table of status codes is here. Only 2xx is success (CASES 21); a redirect is never
followed, since it would turn the POST into a GET or carry it to an address nobody entered.

Why each side (ADR 0008 names the sources): an answer that will be the same for the same bytes ends the
delivery at once (CASES 1), one about the receiver's present state does not. A 4xx that is in neither set
counts as 400, as RFC 9110 section 15 tells a client to treat a code it doesn't know. A code outside 100 to
599, or a 1xx as the last word, counts as 500 (same section: an invalid answer says nothing about the
request).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final, assert_never
from urllib.parse import urlsplit

from connectors.webhook.answer import Answer, NoAnswer, NoAnswerReason, Responded
from connectors.webhook.retry_after import parse_retry_after

__all__ = ["MAX_ERROR_BYTES", "Accepted", "Refused", "RefusedCode", "TryLater", "Verdict", "judge"]

MAX_ERROR_BYTES: Final = 1024

_TEMPORARY_4XX: Final[Mapping[int, str]] = {
    408: "the receiver waited too long for the request",
    409: "the receiver is still busy with this idempotency key",
    421: "the wrong server answered; another connection may reach the right one",
    423: "locked for now",
    424: "something it depends on failed",
    425: "too early",
    429: "too many requests",
}
_RETRY_AFTER_COUNTS: Final = frozenset({429, 503})
_MAX_LOCATION_CHARS: Final = 200
_UNSAFE: Final = re.compile(r"[^\x21-\x7e]")


class RefusedCode(StrEnum):
    """The error code of a delivery that ends here."""

    ENDPOINT_REJECTED = "ENDPOINT_REJECTED"
    ENDPOINT_GONE = "ENDPOINT_GONE"
    """410: the receiver wants no more webhooks at all."""
    ENDPOINT_BLOCKED = "ENDPOINT_BLOCKED"
    """The endpoint's address may not be dialled."""
    EVENT_MALFORMED = "EVENT_MALFORMED"
    """The event can't be put into an HTTP request; no endpoint could take it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """Delivered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Another attempt would end the same way. `error` is at most 1 KB and safe to show."""

    code: RefusedCode
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLater:
    """Another attempt may succeed, no sooner than `retry_after` if the receiver asked for that."""

    error: str
    retry_after: timedelta | None


Verdict = Accepted | Refused | TryLater

_ACCEPTED: Final = Accepted()


def judge(answer: Answer, now: datetime) -> Verdict:
    """Say what an answer means. `now` is what a Retry-After date is measured from.

    >>> from datetime import UTC
    >>> def answered(status: int, **headers: str) -> Responded:
    ...     return Responded(
    ...         status=status,
    ...         retry_after=headers.get("retry_after"),
    ...         location=headers.get("location"),
    ...         excerpt=b"",
    ...         is_excerpt_whole=True,
    ...         dialled="192.0.2.1:443",
    ...         duration=timedelta(milliseconds=3),
    ...     )
    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> judge(answered(204), now)
    Accepted()
    >>> judge(answered(503, retry_after="30"), now)
    TryLater(error='answered 503 Service Unavailable', retry_after=datetime.timedelta(seconds=30))
    >>> judge(answered(301, location="https://new.example/in?token=x"), now).error
    'answered 301 Moved Permanently: redirects are not followed; it points to https://new.example/in'
    """
    match answer:
        case Responded():
            return _judge_response(answer, now)
        case NoAnswer():
            return _judge_silence(answer)
        case _:
            assert_never(answer)


def _judge_response(answer: Responded, now: datetime) -> Verdict:
    status = answer.status
    if 200 <= status <= 299:  # noqa: PLR2004 - RFC 9110's own classes, here and below
        return _ACCEPTED
    error = f"answered {_named(status)}"
    if 300 <= status <= 399:  # noqa: PLR2004 - as above
        return Refused(code=RefusedCode.ENDPOINT_REJECTED, error=_cut(error + _redirect(answer.location)))
    if status == HTTPStatus.GONE:
        return Refused(code=RefusedCode.ENDPOINT_GONE, error=error)
    if 400 <= status <= 499 and status not in _TEMPORARY_4XX:  # noqa: PLR2004 - as above
        return Refused(code=RefusedCode.ENDPOINT_REJECTED, error=error)
    hint = parse_retry_after(answer.retry_after, now) if status in _RETRY_AFTER_COUNTS else None
    return TryLater(error=error, retry_after=hint)


def _judge_silence(answer: NoAnswer) -> Verdict:
    error = _cut(f"no answer ({answer.reason}): {answer.detail}")
    match answer.reason:
        case NoAnswerReason.ADDRESS_BLOCKED:
            return Refused(code=RefusedCode.ENDPOINT_BLOCKED, error=error)
        case NoAnswerReason.REQUEST_INVALID:
            return Refused(code=RefusedCode.EVENT_MALFORMED, error=error)
        case _:
            return TryLater(error=error, retry_after=None)


def _named(status: int) -> str:
    """The code with its registered phrase; the receiver's own phrase is not repeated."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _redirect(location: str | None) -> str:
    shown = "" if location is None else _shown_location(location)
    return ": redirects are not followed" + (f"; it points to {shown}" if shown else "")


def _shown_location(location: str) -> str:
    """A Location without query, fragment and user info, in visible ASCII, cut."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    host = parts.netloc.rpartition("@")[2]
    if not host and not parts.path.startswith("/"):
        return ""  # `user:password@host` without a scheme would be read as a path
    shown = f"{parts.scheme}://{host}{parts.path}" if host else parts.path
    return _UNSAFE.sub("?", shown)[:_MAX_LOCATION_CHARS]


def _cut(text: str) -> str:
    return text.encode("utf-8", "replace")[:MAX_ERROR_BYTES].decode("utf-8", "ignore")
