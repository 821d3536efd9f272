"""What the dispatcher needs of the world, declared by it: records in, records out, time and chance."""

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

from connectors.kafka.record import OutgoingRecord

__all__ = ["Produces", "Received", "Surroundings"]


class Received(Protocol):
    """A record as Faust hands it over."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]] | None


class Produces(Protocol):
    """What this needs of a producer: it calls back when Kafka has acknowledged all records of a group."""

    def produce(self, records: Sequence[OutgoingRecord], on_acked: Callable[[], None]) -> None:
        """Send a group of records."""
        ...


class Surroundings(Protocol):
    """Time, chance and names, passed in."""

    def clock_ms(self) -> int:
        """Epoch milliseconds."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that only go forward."""
        ...

    def random(self) -> float:
        """A float in [0, 1)."""
        ...

    def new_id(self) -> UUID:
        """A new attempt id."""
        ...
