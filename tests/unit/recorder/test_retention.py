"""Retention: which days are kept, and what becomes of an event from another one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.recorder.retention import Retention

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("created_at", "fate"),
    [
        (datetime(2026, 10, 30, 23, 59, 59, 999_000, tzinfo=UTC), "too_old"),
        (datetime(2026, 10, 31, tzinfo=UTC), "kept"),
        (datetime(2026, 11, 30, 12, tzinfo=UTC), "kept"),
        (datetime(2026, 12, 2, 23, 59, tzinfo=UTC), "kept"),
        (datetime(2026, 12, 3, tzinfo=UTC), "too_far_ahead"),
        (datetime(8999, 12, 31, tzinfo=UTC), "too_far_ahead"),
        (datetime(1970, 1, 1, tzinfo=UTC), "too_old"),
    ],
)
def test_what_is_kept(created_at: datetime, fate: str) -> None:
    """Whole days, by the event's commit in UTC: 30 before today, and as many ahead as clocks may differ."""
    assert Retention(30).judge(created_at, today=TODAY) == fate


@given(days=st.integers(1, 3_650), back=st.integers(-400, 400))
def test_nothing_is_kept_in_a_day_that_is_dropped(days: int, back: int) -> None:
    """CASES 43: what is taken in never lies in a partition that the next look would drop."""
    retention, day = Retention(days), TODAY - timedelta(days=back)
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    if retention.judge(noon, today=TODAY) == "kept":
        assert day >= retention.oldest(TODAY)
    assert min(retention.ahead(TODAY)) == TODAY
    assert all(
        retention.judge(datetime(d.year, d.month, d.day, tzinfo=UTC), today=TODAY) == "kept"
        for d in retention.ahead(TODAY)
    )
