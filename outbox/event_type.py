"""The grammar of an event type: dot-separated words, such as `order.created`.

One grammar for what is appended, for what handlers and endpoints filter by, and (as a CHECK constraint) for
the table. It leaves out everything that a filter, a header or a log line would have to escape: `*` is free to
be a wildcard, and a type can't break a line.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["EVENT_TYPE_RULE", "MAX_EVENT_TYPE_CHARACTERS", "RESERVED_EVENT_TYPES", "is_event_type"]

MAX_EVENT_TYPE_CHARACTERS: Final = 200

EVENT_TYPE_RULE: Final = (
    "one or more words joined by single dots, each of ASCII letters, digits, '_' and '-', "
    f"{MAX_EVENT_TYPE_CHARACTERS} characters at most, such as 'order.created'"
)

RESERVED_EVENT_TYPES: Final = frozenset({"endpoint.failing", "endpoint.disabled"})
"""What the processor itself appends, about one endpoint of this outbox (docs/adr/0017).

Nobody else may: a handler that tells a customer of it must be able to believe it. A `*` or `endpoint.*` of an endpoint
doesn't mean them.
"""

_EVENT_TYPE: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


def is_event_type(text: str) -> bool:
    """Whether `text` is an event type.

    >>> [is_event_type(text) for text in ("order.created", "Order_Created-v2", "order.*", "order.", "")]
    [True, True, False, False, False]
    """
    return len(text) <= MAX_EVENT_TYPE_CHARACTERS and _EVENT_TYPE.fullmatch(text) is not None
