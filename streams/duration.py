"""Durations as people write them: "15m" in a setting, a topic's name, a log line.

Place in the data's way: settings are read with `parse_duration`, retry topics are named with
`format_duration` (`outbox.retry-15m`). The two are exact inverses for what `format_duration` writes, so a
tier's name and its wait can never disagree. One whole number and one unit: "90s", not "1.5m", because a name
must be unique.
"""

from __future__ import annotations

import re
from datetime import timedelta

__all__ = ["format_duration", "parse_duration"]

_UNITS = {
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_WRITTEN = re.compile(r"([0-9]{1,9})(ms|s|m|h)")


def parse_duration(text: str) -> timedelta:
    """Read a duration such as "250ms", "5s", "15m" or "24h".

    >>> parse_duration("15m")
    datetime.timedelta(seconds=900)

    Raises:
        ValueError: the text is not one whole number followed by ms, s, m or h.
    """
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a whole number and ms, s, m or h, like 15m")
    number, unit = match.groups()
    return int(number) * _UNITS[unit]


def format_duration(duration: timedelta) -> str:
    """Write a duration with the largest unit that leaves a whole number.

    >>> [format_duration(timedelta(seconds=n)) for n in (1, 60, 90, 86_400)]
    ['1s', '1m', '90s', '24h']

    Raises:
        ValueError: the duration is negative, or finer than a millisecond.
    """
    if duration < timedelta(0) or duration % _UNITS["ms"]:
        raise ValueError(
            f"{duration!r} can't be written: it must be a whole number of milliseconds, 0 or more"
        )
    if not duration:
        return "0s"
    for unit, length in _UNITS.items():
        if not duration % length:
            return f"{duration // length}{unit}"
    raise AssertionError("unreachable: every whole number of milliseconds divides by 1 ms")
