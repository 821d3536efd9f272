"""Time, chance and names of the real world, for the dispatcher and the scheduler."""

import random
import time
import uuid
from datetime import UTC, datetime

__all__ = ["SystemSurroundings"]


class SystemSurroundings:
    """The system's clocks and random source."""

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - it spreads retries; nothing secret depends on it

    def clock_ms(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def now(self) -> datetime:
        """The same, as an aware datetime."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    def random(self) -> float:
        """A float in [0, 1)."""
        return self._random.random()

    def new_id(self) -> uuid.UUID:
        """A new attempt id."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4)
