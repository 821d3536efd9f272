"""How long and how much: the scale of a run. Pure."""

from dataclasses import dataclass, replace
from typing import Self

__all__ = ["Scale"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Durations in seconds, and counts. The defaults are those of the published figures."""

    warm_up_s: float = 10.0
    latency_s: float = 60.0
    latency_rate_per_s: float = 50.0
    throughput_events: int = 60_000
    throughput_keys: int = 5_000
    retries_rate_per_s: int = 1_000
    retries_s: float = 30.0
    due_retries: int = 60_000
    polled_events: int = 20_000
    polled_as_is_s: float = 30.0
    polled_as_is_rate_per_s: float = 5.0
    idle_s: float = 10.0
    fairness_s: float = 40.0
    fairness_rounds: int = 3
    recorded_attempts: int = 100_000
    recorded_beside: int = 300_000
    recording_s: float = 15.0
    verified_events: int = 1_000_000

    @classmethod
    def short(cls) -> Self:
        """Everything once, quickly: to see that it works. Its figures mean little."""
        return cls(
            warm_up_s=1.0,
            throughput_events=3_000,
            throughput_keys=500,
            due_retries=3_000,
            polled_events=1_000,
            recorded_attempts=6_000,
            recorded_beside=20_000,
            recording_s=2.0,
            verified_events=5_000,
            fairness_rounds=1,
            idle_s=2.0,
        ).lasting(4.0)

    def lasting(self, seconds: float) -> Self:
        """Give the same with timed phases of so many seconds; the counted ones stay."""
        return replace(
            self,
            latency_s=seconds,
            retries_s=seconds,
            polled_as_is_s=seconds,
            fairness_s=seconds,
        )
