"""What a soak calls flat."""

from __future__ import annotations

import pytest

from tests.faults.harness.soak import Series, trends


@pytest.mark.parametrize(
    ("figure", "values", "flat"),
    [
        ("memory, MB", [60.0] * 10 + [100.0] * 50, True),
        ("memory, MB", [100.0 + minute / 2 for minute in range(60)], False),
        ("descriptors", [40.0, 90.0] * 30, True),
        ("threads", [13.0] * 40 + [16.0] * 20, False),
        ("tasks", [float(minute * 5) for minute in range(60)], False),
        ("lag, records", [20.0] * 59 + [5_000.0], False),
        ("late, deliveries", [0.0] * 60, True),
    ],
)
def test_flat_is_no_more_late_than_early_once_it_is_warm(
    figure: str, values: list[float], *, flat: bool
) -> None:
    """Growth is a fault however slow; a warm-up and noise are none; a lag may never stand high."""
    series: Series = {("worker", figure): values}
    assert [trend.flat for trend in trends(series)] == [flat]
