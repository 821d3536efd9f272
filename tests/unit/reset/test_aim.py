"""The options that say where to: exactly one kind, and a clear word about a value that can't be read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import typer

from streams.cli.replay_reset_aim import aim_of
from streams.reset.plan import ShiftBy, ToEarliest, ToOffsets, ToTime


def aim(**given: Any) -> Any:
    return aim_of(**{"to_time": None, "to_offset": (), "to_earliest": False, "shift_by": None, **given})


def test_each_kind_is_read() -> None:
    """Times as other commands take them."""
    assert aim(to_earliest=True) == ToEarliest()
    assert aim(shift_by=-5) == ShiftBy(-5)
    assert aim(to_offset=["0:7", " 11:0 "]) == ToOffsets({0: 7, 11: 0})
    assert aim(to_time="2026-11-30T14:00:00Z") == ToTime(datetime(2026, 11, 30, 14, tzinfo=UTC))
    assert aim(to_time="15m").moment <= datetime.now(UTC) - timedelta(minutes=15)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "say where to"),
        ({"to_earliest": True, "shift_by": 1}, "exclude each other"),
        ({"to_time": "15m", "to_offset": ["0:1"]}, "exclude each other"),
        ({"to_time": "yesterday"}, "2026-11-30T14:00:00Z"),
        ({"to_offset": ["0:1", "x:2"]}, "'x:2'"),
        ({"to_offset": ["0:-1"]}, "'0:-1'"),
        ({"to_offset": ["5"]}, "'5'"),
        ({"to_offset": ["1:1", "1:2"]}, "partition 1 is named twice"),
        ({"shift_by": 0}, "0 shifts nothing"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    """None, two kinds, or a value that says nothing."""
    with pytest.raises(typer.BadParameter, match=said):
        aim(**given)
