"""What an attempt record says of its endpoint: taken, failed, gone, or nothing. Pure.

Place in the data's way: from a batch's entries to the endpoints' health. Only an attempt that was made says something.
A turn that was deferred or cancelled, one that was cut off, and an event that no request can be made of say nothing of
the endpoint. What is kept of a failure is the status, or why there was no answer: never the receiver's words, nor
where it pointed to (INV-9).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from connectors.postgres.endpoint_health import EndpointTurn
from connectors.webhook.answer import NoAnswerReason
from streams.recorder.entry import Entry
from streams.records.outcome import ErrorCode

__all__ = ["CLOCKS_DIFFER", "endpoint_turns"]

CLOCKS_DIFFER: Final = timedelta(hours=1)
"""An attempt that says it began further ahead of now than this isn't believed: it would hide all that come after."""

_PREFIX: Final = "endpoint:"
_REASON: Final = re.compile(r"no answer \(([a-z_]{1,40})\)")
#: These say that nothing was tried: no request could be made, or we were stopping.
_UNTRIED: Final = frozenset({NoAnswerReason.REQUEST_INVALID, NoAnswerReason.SENDER_CLOSED})


def endpoint_turns(entries: Iterable[Entry], *, now: datetime) -> list[EndpointTurn]:
    """The turns of a batch that say something of an endpoint."""
    latest = now + CLOCKS_DIFFER
    return [turn for entry in entries if (turn := _turn(entry)) is not None and turn.at <= latest]


def _turn(entry: Entry) -> EndpointTurn | None:
    attempt, target = entry.attempt, entry.delivery.target
    if not target.startswith(_PREFIX):
        return None
    match attempt.outcome:
        case "succeeded":
            error = None
        case "failed" | "rejected" if (reason := _reason(attempt.error)) not in _UNTRIED:
            error = _error(attempt.http_status, reason)
        case _:
            return None
    return EndpointTurn(
        endpoint_id=target.removeprefix(_PREFIX),
        at=attempt.started_at,
        attempt_id=attempt.id,
        error=error,
        http_status=attempt.http_status,
        gone=error is not None and attempt.error_code == ErrorCode.ENDPOINT_GONE,
    )


def _reason(error: str | None) -> str | None:
    # "all 8 attempts used: " stands before it in no attempt record: what is recorded is the attempt's own error.
    found = _REASON.match(error or "")
    return None if found is None else found[1]


def _error(http_status: int | None, reason: str | None) -> str:
    if http_status is not None:
        try:
            return f"answered {http_status} {HTTPStatus(http_status).phrase}"
        except ValueError:
            return f"answered {http_status}"
    return "no answer" if reason is None else f"no answer ({reason})"
