"""The flood guard's metrics: whether it is open, and how often it has held a delivery.

Place in the data's way: beside the guard, which tells it what it tells the log. Not for several threads.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge

from streams.dispatch.holding import FloodSign

__all__ = ["FloodMetrics"]


class FloodMetrics:
    """Closed, and nothing held, at first."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._open = Gauge(
            "outbox_flood_guard_open",
            "1 while this worker holds what would be dead letters, since most of what ends would be; else 0.",
            registry=registry,
        )
        self._held = Counter(
            "outbox_flood_guard_held",
            "How often a delivery was held. Told once a minute, and when the guard closes.",
            registry=registry,
        )
        self._told = 0

    def tell(self, sign: FloodSign) -> None:
        """Take a sign of the guard's."""
        self._open.set(0 if sign.state == "closed" else 1)
        self._held.inc(max(sign.held - self._told, 0))
        self._told = 0 if sign.state == "closed" else sign.held
