"""What the lists of the delivery log and of the dead letters share: how they are cut into pages, and their times.

Both are partitioned by a moment that is in the id, too. So a page's cursor is the last id on it, and a page is cut by
moment and id. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from connectors.postgres.delivery_id import created_at_of
from connectors.postgres.errors import CursorInvalidError

__all__ = ["after", "in_utc", "read_id", "where"]


def read_id(text: str) -> tuple[datetime, UUID] | None:
    """An id of these, with the moment that is in it; None for any other text."""
    try:
        identifier = UUID(text)
    except ValueError:
        return None
    moment = created_at_of(identifier)
    return None if moment is None else (moment, identifier)


def after(cursor: str) -> dict[str, object]:
    """The values of the condition that begins a page behind a cursor: `after` and `after_id`.

    Raises:
        CursorInvalidError: it is none.
    """
    found = read_id(cursor)
    if found is None:
        raise CursorInvalidError
    return {"after": found[0], "after_id": found[1]}


def where(conditions: Iterable[LiteralString]) -> LiteralString:
    """The `where` of a statement for which all these hold.

    >>> where(["a = 1", "b = 2"]), where([])
    (' where a = 1 and b = 2', '')
    """
    together = " and ".join(conditions)
    return f" where {together}" if together else ""


def in_utc(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its times in UTC, whatever zone the session is set to."""
    return {
        name: value.astimezone(UTC) if name.endswith("_at") and value is not None else value
        for name, value in row.items()
    }
