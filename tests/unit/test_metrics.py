"""What is told to Prometheus: from a sign to a sample, and where it is served."""

import socket
from typing import Literal

import pytest
from prometheus_client import CollectorRegistry

from streams.dispatch.flood_guard import Flood
from streams.dispatch.holding import FloodSign
from streams.errors import SettingsError
from streams.metrics.flood_metrics import FloodMetrics
from streams.metrics.serving import serving

State = Literal["opened", "holding", "closed"]


def a_sign(state: State, *, held: int) -> FloodSign:
    flood = Flood(open=state != "closed", died=60, delivered=2, dying_targets=3, targets=3)
    return FloodSign(state=state, flood=flood, held=held)


@pytest.mark.parametrize(
    ("signs", "is_open", "held"),
    [
        ([], 0, 0),
        ([("opened", 0)], 1, 0),
        ([("opened", 0), ("holding", 40), ("holding", 70)], 1, 70),
        ([("opened", 0), ("holding", 40), ("closed", 55)], 0, 55),
        ([("opened", 0), ("closed", 55), ("opened", 0), ("holding", 5), ("closed", 6)], 0, 61),
    ],
)
def test_the_guards_signs_are_a_gauge_and_a_counter(
    signs: list[tuple[State, int]], is_open: int, held: int
) -> None:
    """A sign says how many since the guard opened; the counter goes on over all of its floods."""
    registry = CollectorRegistry()
    metrics = FloodMetrics(registry)
    for state, count in signs:
        metrics.tell(a_sign(state, held=count))
    assert registry.get_sample_value("outbox_flood_guard_open") == is_open
    assert registry.get_sample_value("outbox_flood_guard_held_total") == held


def test_an_address_that_is_taken_is_a_setting_that_is_wrong() -> None:
    """The process says which setting, and ends, rather than running unseen."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with (
            pytest.raises(SettingsError, match=f"OUTBOX_METRICS_LISTEN = {address}: can't listen there"),
            serving(address, CollectorRegistry()),
        ):
            raise AssertionError("it listens")
