"""CASES 8: Retry-After in seconds and as a date; at least the hint, at most a bound; garbage ignored."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.retry_after import MAX_RETRY_AFTER, parse_retry_after
from tests.unit.webhook.records import NOW

SECONDS = st.integers(min_value=0, max_value=4_102_444_800).map(
    lambda unix_s: datetime.fromtimestamp(unix_s, UTC)
)


@given(st.text(max_size=80), SECONDS)
def test_whatever_a_receiver_says_the_wait_is_positive_and_bounded(value: str, now: datetime) -> None:
    """Any text gives None or a wait within (0, one day]; nothing raises."""
    wait = parse_retry_after(value, now)

    assert wait is None or timedelta() < wait <= MAX_RETRY_AFTER


@given(st.integers(min_value=1, max_value=86_400), st.integers(min_value=0, max_value=5))
def test_seconds_are_taken_as_they_are(seconds: int, zeros: int) -> None:
    """A whole number of seconds up to a day is the wait, leading zeros or not."""
    assert parse_retry_after("0" * zeros + str(seconds), NOW) == timedelta(seconds=seconds)


@given(st.integers(min_value=86_401))
def test_more_than_a_day_is_a_day(seconds: int) -> None:
    """However many digits it has."""
    assert parse_retry_after(str(seconds), NOW) == MAX_RETRY_AFTER


@given(SECONDS, st.integers(min_value=1, max_value=86_400))
def test_a_date_is_a_wait_until_then(now: datetime, seconds: int) -> None:
    """All three forms of an HTTP date, measured from now."""
    until = now + timedelta(seconds=seconds)
    forms = [
        format_datetime(until, usegmt=True),
        until.strftime("%A, %d-%b-%y %H:%M:%S GMT"),
        until.strftime("%a %b ") + f"{until.day:2d}" + until.strftime(" %H:%M:%S %Y"),
    ]

    assert [parse_retry_after(form, now) for form in forms] == [timedelta(seconds=seconds)] * 3


@given(SECONDS, st.timedeltas(min_value=timedelta(), max_value=timedelta(days=365 * 40)))
def test_a_date_that_has_passed_asks_for_nothing(now: datetime, ago: timedelta) -> None:
    """A receiver whose clock is behind does not make us wait, nor fail."""
    assert parse_retry_after(format_datetime((now - ago).replace(microsecond=0), usegmt=True), now) is None


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "0",
        "000",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        "1 000",
        "1,2",
        "٣",
        "²",
        "soon",
        "Sun, 01 Mar 2026 12:00:30",
        "Sun, 01 Mar 2026 12:00:30 CET",
        "Sun, 01 Mar 2026 25:00:30 GMT",
        "Sun, 31 Feb 2026 12:00:30 GMT",
        "Sun, 01 Mrz 2026 12:00:30 GMT",
        "Sun, 01 Mar 0000 12:00:30 GMT",
        "2026-03-01T12:00:30Z",
        "1772366430\n",
    ],
)
def test_garbage_is_no_hint(value: str | None) -> None:
    """Neither a number of seconds nor a date: the usual backoff applies."""
    assert parse_retry_after(value, NOW) is None


@pytest.mark.parametrize(
    ("date", "now", "wait"),
    [
        (
            "Friday, 01-Jan-00 00:00:00 GMT",
            datetime(2099, 12, 31, 23, 59, 50, tzinfo=UTC),
            timedelta(seconds=10),
        ),
        ("Sunday, 01-Mar-26 12:00:10 GMT", NOW, timedelta(seconds=10)),
        ("Sunday, 01-Mar-76 12:00:10 GMT", NOW, MAX_RETRY_AFTER),
        ("Sunday, 01-Mar-77 12:00:10 GMT", NOW, None),
    ],
)
def test_a_two_digit_year_is_at_most_50_years_ahead(date: str, now: datetime, wait: timedelta | None) -> None:
    """RFC 9110, section 5.6.7, across the turn of a century too."""
    assert parse_retry_after(date, now) == wait


def test_a_leap_second_is_a_time() -> None:
    """HTTP dates may name second 60."""
    assert parse_retry_after("Sun, 01 Mar 2026 12:00:60 GMT", NOW) == timedelta(seconds=59)
    assert parse_retry_after("Sun, 01 Mar 2026 12:00:61 GMT", NOW) is None
