"""A lane in the scheduler's hands: a small buffer of one partition, in due order.

The head is the next to move. Full, it is paused at the broker; half empty, it is resumed. It lives as long
as one assignment of its partition, and pause state dies with it (spring-kafka #2525). Pure.
"""

from collections import deque
from dataclasses import dataclass

from streams.commit.ledger import PartitionLedger

__all__ = ["BUFFER_BYTES", "BUFFER_RECORDS", "Lane", "Waiting"]

#: Enough to move at full speed between two polls; small enough that a thousand lanes fit into memory.
BUFFER_RECORDS = 1000
#: And so that large payloads don't fill it instead: a hundred full lanes take less than half a gigabyte.
BUFFER_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A parked record: when it is due, and its bytes."""

    offset: int
    due_at_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]

    @property
    def size_bytes(self) -> int:
        """What it takes in memory, nearly."""
        return len(self.value or b"") + len(self.key or b"") + sum(map(len, self.headers.values()))


class Lane:
    """The buffered head of one partition."""

    __slots__ = ("_bytes", "_waiting", "ledger", "paused")

    def __init__(self, ledger: PartitionLedger) -> None:
        self.ledger = ledger
        self.paused = False
        self._waiting: deque[Waiting] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """How many records are buffered."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Should it be paused?"""
        return len(self._waiting) >= BUFFER_RECORDS or self._bytes >= BUFFER_BYTES

    @property
    def low(self) -> bool:
        """Should it be resumed?"""
        return len(self._waiting) <= BUFFER_RECORDS // 2 and self._bytes <= BUFFER_BYTES // 2

    def put(self, waiting: Waiting) -> None:
        """A record was read."""
        self._waiting.append(waiting)
        self._bytes += waiting.size_bytes

    def next_due_ms(self) -> int | None:
        """When the head is due; None for an empty lane."""
        return self._waiting[0].due_at_ms if self._waiting else None

    def take_due(self, *, now_ms: int, most: int) -> list[Waiting]:
        """The records that are due, from the head on; `most` at a time."""
        due: list[Waiting] = []
        while self._waiting and len(due) < most and self._waiting[0].due_at_ms <= now_ms:
            waiting = self._waiting.popleft()
            self._bytes -= waiting.size_bytes
            due.append(waiting)
        return due
