"""The Retry-After header (RFC 9110, section 10.2.3): a number of seconds, or a date. Pure.

Trusted within bounds only (CASES 8): a receiver may ask for a later attempt, not for one never.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["MAX_RETRY_AFTER", "parse_retry_after"]

MAX_RETRY_AFTER: Final = timedelta(days=1)

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SECONDS: Final = re.compile(r"[0-9]+", re.ASCII)
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME: Final = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
# The three forms of RFC 9110, section 5.6.7: today's, and two from before 1995 that a recipient must still
# read.
_DATES: Final = (
    re.compile(rf"[A-Z][a-z]{{2}}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT", re.ASCII),
    re.compile(rf"[A-Z][a-z]{{5,8}}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT", re.ASCII),
    re.compile(rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})", re.ASCII),
)
_YEARS_AHEAD: Final = 50
_CENTURY: Final = 100
_LEAP_SECOND: Final = 60


def parse_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Give the wait that a Retry-After asks for, at most a day; None where it asks for none that makes sense.

    Garbage, a negative number and a date that has passed are None; so is 0, which asks for no wait.

    >>> now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    >>> parse_retry_after("120", now), parse_retry_after("Sun, 01 Mar 2026 12:00:30 GMT", now)
    (datetime.timedelta(seconds=120), datetime.timedelta(seconds=30))
    >>> parse_retry_after("soon", now), parse_retry_after("-5", now), parse_retry_after("9" * 5_000, now)
    (None, None, datetime.timedelta(days=1))
    """
    if value is None:
        return None
    text = value.strip(" \t")
    wait = _until(text, now) if _SECONDS.fullmatch(text) is None else _seconds(text)
    if wait is None or wait <= timedelta():
        return None
    return min(wait, MAX_RETRY_AFTER)


def _seconds(digits: str) -> timedelta:
    significant = digits.lstrip("0")
    # Not `int` of anything long: it refuses more than 4,300 digits.
    if len(significant) > len(str(int(MAX_RETRY_AFTER.total_seconds()))):
        return MAX_RETRY_AFTER
    return timedelta(seconds=int(significant or "0"))


def _until(text: str, now: datetime) -> timedelta | None:
    for form in _DATES:
        found = form.fullmatch(text)
        if found is not None:
            date = _date(found, now)
            return None if date is None else date - now
    return None


def _date(found: re.Match[str], now: datetime) -> datetime | None:
    year = int(found["year"])
    if len(found["year"]) == 2:  # noqa: PLR2004 - the two digits of RFC 850
        year = _full_year(year, now)
    second = int(found["second"])
    try:
        date = datetime(
            year,
            _MONTHS.index(found["month"]) + 1,
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            min(second, _LEAP_SECOND - 1),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    return date if second <= _LEAP_SECOND else None


def _full_year(two_digits: int, now: datetime) -> int:
    """RFC 9110: the last year with these digits that is not more than 50 years ahead."""
    last = now.year + _YEARS_AHEAD
    return last - (last - two_digits) % _CENTURY
