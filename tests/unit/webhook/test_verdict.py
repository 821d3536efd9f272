"""What each answer means. CASES 1, 8, 21."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.answer import NoAnswerReason
from connectors.webhook.verdict import MAX_ERROR_BYTES, Accepted, Refused, RefusedCode, TryLater, judge
from tests.unit.webhook.records import NOW, no_answer, responded

TEMPORARY_4XX = {408, 409, 421, 423, 424, 425, 429}


def test_only_2xx_is_success() -> None:
    """CASES 21: no redirect, interim or unknown status counts as delivered."""
    accepted = [status for status in range(1_000) if isinstance(judge(responded(status), NOW), Accepted)]

    assert accepted == list(range(200, 300))


def test_cases_1_an_answer_that_will_not_change_ends_the_delivery() -> None:
    """All of 3xx and 4xx but the few about the receiver's present state; 410 says that the endpoint is gone."""
    for status in set(range(300, 500)) - TEMPORARY_4XX:
        verdict = judge(responded(status), NOW)

        assert isinstance(verdict, Refused)
        assert verdict.code == (RefusedCode.ENDPOINT_GONE if status == 410 else RefusedCode.ENDPOINT_REJECTED)
        assert str(status) in verdict.error


def test_an_answer_about_the_moment_is_tried_again() -> None:
    """5xx, what is no valid status (RFC 9110, 15: as 5xx), and the temporary 4xx."""
    for status in (*range(200), *TEMPORARY_4XX, *range(500, 1_000)):
        verdict = judge(responded(status), NOW)

        assert isinstance(verdict, TryLater)
        assert str(status) in verdict.error


def test_cases_8_retry_after_counts_with_429_and_503_only() -> None:
    """Elsewhere it has no meaning that concerns us."""
    for status in range(1_000):
        verdict = judge(responded(status, retry_after="77"), NOW)

        hint = verdict.retry_after if isinstance(verdict, TryLater) else None
        assert hint == (timedelta(seconds=77) if status in {429, 503} else None)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://new.example/in?token=hunter2", "points to https://new.example/in"),
        ("https://user:hunter2@new.example/in#hunter2", "points to https://new.example/in"),
        ("/in?hunter2", "points to /in"),
        ("//new.example/in", "points to ://new.example/in"),
        ("https://new.example/a\r\nb\x1b[31m\u202e", "points to https://new.example/a"),
        ("https://[hunter2", "not followed"),
        ("?hunter2", "not followed"),
        (None, "not followed"),
        ("https://new.example/" + "x" * 5_000, "points to https://new.example/xxx"),
    ],
)
def test_cases_21_a_redirect_is_refused_and_names_where_it_points(location: str | None, shown: str) -> None:
    """Location in visible ASCII, without query, fragment and user info, and cut."""
    verdict = judge(responded(301, location=location), NOW)

    assert isinstance(verdict, Refused)
    assert shown in verdict.error
    assert "hunter2" not in verdict.error
    assert verdict.error.isascii()
    assert verdict.error.isprintable()
    assert len(verdict.error) < 400


@pytest.mark.parametrize("reason", list(NoAnswerReason))
def test_no_answer_is_tried_again_unless_it_can_never_come(reason: NoAnswerReason) -> None:
    """Two reasons are ours and permanent: an address that may not be dialled, an event that HTTP can't carry."""
    verdict = judge(no_answer(reason), NOW)

    match reason:
        case NoAnswerReason.ADDRESS_BLOCKED:
            assert isinstance(verdict, Refused)
            assert verdict.code is RefusedCode.ENDPOINT_BLOCKED
        case NoAnswerReason.REQUEST_INVALID:
            assert isinstance(verdict, Refused)
            assert verdict.code is RefusedCode.EVENT_MALFORMED
        case _:
            assert isinstance(verdict, TryLater)
            assert verdict.retry_after is None
    assert reason.value in verdict.error


@given(st.text(max_size=4_000))
def test_an_error_is_bounded(detail: str) -> None:
    """Errors ride in record headers, so 1 KB of UTF-8 at most."""
    verdict = judge(no_answer(NoAnswerReason.CONNECT_FAILED, detail), NOW)

    assert isinstance(verdict, TryLater)
    assert len(verdict.error.encode()) <= MAX_ERROR_BYTES
