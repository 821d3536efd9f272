"""What is left out of a verification, for somebody may delete it meanwhile."""

from __future__ import annotations

from datetime import timedelta

import pytest

from streams.recorder.retention import Retention
from streams.verify.process import letters_kept_from
from tests.support.verified_event import BASE


@pytest.mark.parametrize("hours", [1, 24, 30, 720])
@pytest.mark.parametrize("minutes", [0, 11 * 60 + 30, 11 * 60 + 59])
def test_letters_that_may_go_at_midnight_are_not_looked_for(hours: int, minutes: int) -> None:
    """A verification that begins before midnight and ends after it finds all that it looks for."""
    now = BASE + timedelta(minutes=minutes)
    oldest = Retention.of_hours(hours).oldest((now + timedelta(minutes=59)).date())
    assert letters_kept_from(now, hours=hours).date() >= oldest
