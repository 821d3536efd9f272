"""Durations as text: settings and topic names must mean the same."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.duration import format_duration, parse_duration


@given(st.integers(min_value=1, max_value=10**9 - 1))
def test_what_is_written_reads_back(milliseconds: int) -> None:
    """A retry topic's name gives back exactly the tier's wait."""
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize("text", ["", "5", "s", "1.5m", "-1s", "1m30s", "5 s", "1d", "٣s", "1e3s"])
def test_other_forms_are_refused(text: str) -> None:
    """One whole number and one unit: anything else is refused rather than guessed."""
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


def test_finer_than_a_millisecond_can_t_be_written() -> None:
    """A name that loses a part of the wait would be another tier's name."""
    with pytest.raises(ValueError, match="whole number of milliseconds"):
        format_duration(timedelta(microseconds=1500))
