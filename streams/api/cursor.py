"""Cursors: where a page ended, as a text that the client gives back. Pure.

Opaque to the client and not secret: it holds what the last item of the page showed. A cursor that was changed asks for
another page of the same list, and nothing else.
"""

import base64
import binascii
from datetime import datetime

from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.api.texts import UUID_FORM

__all__ = [
    "audit_cursor",
    "cursor_invalid",
    "endpoint_cursor",
    "read_audit_cursor",
    "read_endpoint_cursor",
    "read_replay_cursor",
    "replay_cursor",
]

_BIGINT = 2**63


def endpoint_cursor(created_at: datetime, endpoint_id: str) -> str:
    """Where a page of endpoints ended.

    >>> from datetime import UTC
    >>> read_endpoint_cursor(endpoint_cursor(datetime(2026, 3, 1, tzinfo=UTC), "ep_1"))
    (datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc), 'ep_1')
    """
    return _encoded(f"{created_at.isoformat()} {endpoint_id}")


def read_endpoint_cursor(cursor: str) -> tuple[datetime, str]:
    """Where a page of endpoints begins.

    Raises:
        ProblemError: it is no such cursor.
    """
    moment, separator, endpoint_id = _decoded(cursor).partition(" ")
    try:
        created_at = datetime.fromisoformat(moment)
    except ValueError:
        raise cursor_invalid() from None
    if not separator or created_at.tzinfo is None or "\0" in endpoint_id or created_at.year < 1000:  # noqa: PLR2004
        raise cursor_invalid()
    return created_at, endpoint_id


def audit_cursor(entry_id: int) -> str:
    """Where a page of the audit table ended."""
    return _encoded(str(entry_id))


def read_audit_cursor(cursor: str) -> int:
    """Where a page of the audit table begins.

    Raises:
        ProblemError: it is no such cursor.
    """
    text = _decoded(cursor)
    if not text.isascii() or not text.isdigit() or int(text[:20]) >= _BIGINT or len(text) > 19:  # noqa: PLR2004
        raise cursor_invalid()
    return int(text)


def replay_cursor(replay_id: str) -> str:
    """Where a page of replays ended."""
    return _encoded(replay_id)


def read_replay_cursor(cursor: str) -> str:
    """Where a page of replays begins.

    Raises:
        ProblemError: it is no such cursor.
    """
    replay_id = _decoded(cursor)
    if not UUID_FORM.fullmatch(replay_id):
        raise cursor_invalid()
    return replay_id.lower()


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _decoded(cursor: str) -> str:
    try:
        return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        raise cursor_invalid() from None


def cursor_invalid() -> ProblemError:
    """What a cursor is answered with that no page of this list gave."""
    wrong = FieldProblem(where="parameter", name="cursor", detail="give `next_cursor` of a page of this list")
    return ProblemError(
        Problem(kind="query-invalid", detail="Put right what `errors` lists.", errors=(wrong,))
    )
