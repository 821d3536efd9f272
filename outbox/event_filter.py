"""Which event types a handler or an endpoint wants.

The grammar is the same for both: an exact type, a type's whole subtree, or everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from outbox.errors import EventFilterError
from outbox.event_type import EVENT_TYPE_RULE, is_event_type

__all__ = ["EventFilter"]

_EVERYTHING: Final = "*"
_SUBTREE: Final = ".*"


@dataclass(frozen=True, slots=True)
class EventFilter:
    """One pattern: `order.created` is that type, `order.*` what begins with `order.`, `*` is all.

    `order.*` doesn't match `order` itself. A `*` anywhere else is refused rather than guessed at.

    Raises:
        EventFilterError: the pattern is none of the three.

    >>> EventFilter("order.*").matches("order.line.added"), EventFilter("order.*").matches("orders.created")
    (True, False)
    >>> EventFilter("*.created")
    Traceback (most recent call last):
    outbox.errors.EventFilterError: '*.created' is no event filter. Give an event type ('order.created'), ...
    """

    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str):
            raise EventFilterError(f"An event filter is a str, not {type(self.pattern).__name__}.")
        if self.pattern != _EVERYTHING and not is_event_type(self.pattern.removesuffix(_SUBTREE)):
            raise EventFilterError(
                f"{self.pattern[:250]!r} is no event filter. Give an event type ('order.created'), all types "
                f"below one ('order.*'), or every type ('*'). An event type is {EVENT_TYPE_RULE}."
            )

    def matches(self, event_type: str) -> bool:
        """Whether an event of this type is wanted."""
        if self.pattern == _EVERYTHING:
            return True
        if self.pattern.endswith(_SUBTREE):
            return event_type.startswith(self.pattern[:-1])
        return event_type == self.pattern

    def __str__(self) -> str:
        return self.pattern
