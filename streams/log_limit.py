"""A limit for what libraries say: the same message once in a while, with how often it was said meanwhile.

A client that can't reach its broker says so at every try of every connection, thousands of times a minute.
Our own lines are never held back: each of them says one thing that happened.
"""

import logging
from collections.abc import Callable
from time import monotonic

__all__ = ["RepetitionLimit"]

_EVERY_S = 30.0
_REMEMBERED = 1000


class RepetitionLimit(logging.Filter):
    """Lets a library's message through once in 30 seconds. Alike is what has the same logger and the same template."""

    def __init__(self, *, clock_s: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock_s = clock_s
        self._said: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written. The one after a pause says how many were not."""
        if not isinstance(record.msg, str):
            return True  # structlog's own: fields, not a template
        key = (record.name, _template(record.msg))
        now_s = self._clock_s()
        said_at_s, held_back = self._said.get(key, (-_EVERY_S, 0))
        if now_s - said_at_s < _EVERY_S:
            self._said[key] = (said_at_s, held_back + 1)
            return False
        if len(self._said) >= _REMEMBERED:
            self._said.clear()
        self._said[key] = (now_s, 0)
        if held_back:
            record.msg = f"{record.getMessage()} [{held_back} more like this were not written]"
            record.args = ()
        return True


def _template(message: str) -> str:
    """What messages of a kind have in common: librdkafka writes addresses and times into the text itself."""
    return "".join(character for character in message if not character.isdigit())[:80]
