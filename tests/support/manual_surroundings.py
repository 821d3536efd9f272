"""Time that stands still until the test moves it, seeded chance, and ids that count."""

from itertools import count
from uuid import UUID

from tests.support.chance import seeded
from tests.support.deliveries import NOW_MS

__all__ = ["ManualSurroundings"]


class ManualSurroundings:
    """Both clocks move together, by `pass_s`."""

    def __init__(self, *, seed: int = 0) -> None:
        self._passed_ms = 0
        self._random = seeded(seed)
        self._ids = count(1)

    def pass_s(self, seconds: float) -> None:
        self._passed_ms += round(seconds * 1000)

    def clock_ms(self) -> int:
        return NOW_MS + self._passed_ms

    def monotonic_s(self) -> float:
        return self._passed_ms / 1000

    def random(self) -> float:
        return self._random.random()

    def new_id(self) -> UUID:
        return UUID(int=next(self._ids))
