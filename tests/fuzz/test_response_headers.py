"""`Retry-After` and `Location`: what a receiver may say, within bounds, and nothing of it that harms."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.retry_after import MAX_RETRY_AFTER, parse_retry_after
from connectors.webhook.verdict import MAX_ERROR_BYTES, Accepted, Refused, TryLater, judge
from tests.fuzz.mutation import any_text, mutated_text
from tests.fuzz.profile import FUZZ
from tests.unit.webhook.records import NOW, responded

RETRY_AFTERS = [
    "120",
    "0",
    "86400",
    "Sun, 01 Mar 2026 12:00:30 GMT",
    "Sunday, 01-Mar-26 12:00:30 GMT",
    "Sun Mar  1 12:00:30 2026",
    "Fri, 31 Dec 9999 23:59:60 GMT",
    "Saturday, 29-Feb-00 23:59:59 GMT",
]
LOCATIONS = [
    "https://new.example/in?token=hunter2",
    "/in",
    "//user:hunter2@new.example:8443/a/b#hunter2",
    "user:hunter2@new.example/",
    "https://[::1]:8443/x",
    "http://bücher.example/",
]
#: RFC 3986, appendix B.
REFERENCE = re.compile(r"(?:[^:/?#]+:)?(?://)?(?P<authority>(?<=//)[^/?#]*|)(?P<path>[^?#]*)", re.DOTALL)
TIMES = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [NOW, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)


@FUZZ
@given(mutated_text(RETRY_AFTERS) | any_text, TIMES)
@example("9" * 5_000, NOW)
@example("Sunday, 01-Mar-99 12:00:30 GMT", datetime.max.replace(tzinfo=UTC))
def test_a_wait_is_within_a_day_whatever_was_said(value: str, now: datetime) -> None:
    """CASES 8: None, or more than nothing and at most a day; at any time of any calendar."""
    wait = parse_retry_after(value, now)
    assert wait is None or timedelta() < wait <= MAX_RETRY_AFTER


@FUZZ
@given(mutated_text(RETRY_AFTERS[3:4], [*" ,:GMT0123456789", "Feb", "Dec", "31", "60", "24"]), TIMES)
def test_a_date_that_counts_is_the_date_that_pythons_mail_parser_reads(value: str, now: datetime) -> None:
    """Another reader of the same format: wherever we take a date, both take the same one."""
    wait = parse_retry_after(value, now)
    if wait is None or wait == MAX_RETRY_AFTER or ":" not in value:
        return
    # It knows no second 60, which is read as 59 here.
    read = parsedate_to_datetime(value.replace(":60 ", ":59 "))
    assert read - now == wait


@FUZZ
@given(
    status=st.integers(0, 999),
    location=st.none() | mutated_text(LOCATIONS) | any_text,
    retry_after=st.none() | mutated_text(RETRY_AFTERS),
)
def test_every_answer_has_a_verdict_that_can_be_shown(
    status: int, location: str | None, retry_after: str | None
) -> None:
    """INV-9: of a Location its query, fragment and user info stay out; the rest is short, visible ASCII."""
    verdict = judge(responded(status, retry_after=retry_after, location=location), NOW)
    assert isinstance(verdict, Accepted) == (200 <= status <= 299)
    if isinstance(verdict, Refused | TryLater):
        assert len(verdict.error.encode()) <= MAX_ERROR_BYTES
        assert verdict.error.isascii()
        assert verdict.error.isprintable()
    if isinstance(verdict, Refused) and location is not None and 300 <= status <= 399:
        told, _, shown = verdict.error.partition("; it points to ")
        assert told.endswith("redirects are not followed")
        # What `urlsplit` strips before it looks at anything.
        found = REFERENCE.match(location.translate({9: None, 10: None, 13: None}))
        assert found is not None
        host_and_path = found["authority"].rpartition("@")[2] + found["path"]
        assert "hunter2" not in shown or "hunter2" in host_and_path
    if isinstance(verdict, TryLater) and verdict.retry_after is not None:
        assert timedelta() < verdict.retry_after <= MAX_RETRY_AFTER
