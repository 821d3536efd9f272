"""Events and filters: what a handler is given, and for which types."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox import Event, EventFilter, EventFilterError, PermanentError, TemporaryError
from outbox.event_type import is_event_type

words = st.text("abcXYZ019_-", min_size=1, max_size=8)
event_types = st.lists(words, min_size=1, max_size=5).map(".".join)


def event(payload: bytes) -> Event:
    return Event(
        id=UUID("01900000-0000-7000-8000-000000000000"),
        type="order.created",
        aggregate_type="order",
        aggregate_id="42",
        payload=payload,
        content_type="application/json",
        headers={"session": "secret-2"},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def test_json_reads_the_payload() -> None:
    """A handler gets the value that the payload's JSON stands for."""
    assert event(b'{"total": "9.90", "n": 12345678901234567890}').json() == {
        "total": "9.90",
        "n": 12345678901234567890,
    }


def test_a_payload_that_is_not_json_is_a_permanent_failure_that_shows_nothing() -> None:
    """The bytes are the same on every attempt, so no retry; and they are in no log (INV-9)."""
    broken = event(b'{"card": %b' % b"secret-1")
    with pytest.raises(PermanentError, match="is not JSON") as caught:
        broken.json()
    assert isinstance(caught.value, ValueError)
    assert caught.value.__cause__ is None  # the decoder's own error carries the payload
    assert "secret-1" not in "".join(traceback.format_exception(caught.value))


def test_neither_payload_nor_headers_show_in_a_repr() -> None:
    """INV-9: an event that ends in a log shows none of its content."""
    assert "secret" not in repr(event(b"secret-1"))


@given(event_types, event_types)
def test_an_exact_pattern_matches_one_type(pattern: str, event_type: str) -> None:
    """`order.created` is `order.created`, and neither its prefix nor its subtree."""
    assert EventFilter(pattern).matches(event_type) == (pattern == event_type)


@given(event_types, event_types)
def test_a_subtree_matches_what_is_below_it_at_any_depth(prefix: str, rest: str) -> None:
    """`order.*` has `order.created` and `order.line.added`, not `order`, and not `orders.created`."""
    subtree = EventFilter(f"{prefix}.*")
    assert subtree.matches(f"{prefix}.{rest}")
    assert not subtree.matches(prefix)
    assert not subtree.matches(f"{prefix}x.{rest}")


@given(event_types)
def test_a_star_matches_every_type(event_type: str) -> None:
    """`*` is for those that want all."""
    assert EventFilter("*").matches(event_type)


@given(st.text("ab.* \n", max_size=6))
def test_every_other_pattern_is_refused(pattern: str) -> None:
    """No pattern is guessed at: it's an event type, one followed by `.*`, or `*`; anything else is an error."""
    known = pattern == "*" or is_event_type(pattern.removesuffix(".*"))
    if known:
        assert str(EventFilter(pattern)) == pattern
        return
    with pytest.raises(EventFilterError, match="is no event filter"):
        EventFilter(pattern)


def test_a_pattern_is_text() -> None:
    """A pattern of another type is refused with this package's error, not an AttributeError."""
    with pytest.raises(EventFilterError, match="not int"):
        EventFilter(1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [
        (None, None),
        (0, timedelta(0)),
        (1.5, timedelta(seconds=1.5)),
        (timedelta(minutes=2), timedelta(minutes=2)),
    ],
)
def test_a_temporary_error_says_how_long_to_wait(
    retry_after: float | timedelta | None, wait: timedelta | None
) -> None:
    """Seconds or a timedelta, one meaning."""
    error = TemporaryError("busy", retry_after=retry_after)
    assert (str(error), error.retry_after) == ("busy", wait)


@pytest.mark.parametrize("retry_after", [-1, float("nan"), float("inf"), timedelta(seconds=-1), 1e300])
def test_a_wait_that_is_none_is_refused(retry_after: float | timedelta) -> None:
    """A wait that can't be is an error of the handler's author, and said so."""
    with pytest.raises(ValueError, match="retry_after"):
        TemporaryError("busy", retry_after=retry_after)
