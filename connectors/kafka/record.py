"""A record to produce. Pure: who decides what follows needs no Kafka client."""

from dataclasses import dataclass

__all__ = ["OutgoingRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRecord:
    """A record to produce. `partition` None lets the key choose."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        """What it takes in memory until Kafka has it, nearly."""
        return (
            len(self.value or b"")
            + len(self.key or b"")
            + sum(len(name) + len(raw) for name, raw in self.headers)
        )
