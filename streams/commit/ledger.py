"""The ledger of one partition: which of its received offsets are settled, and so what may be committed.

An offset is *received* when the agent takes its record, and *settled* when every delivery of it has its
outcome acknowledged by Kafka. The commit is the first unsettled offset (INV-2); what is settled beyond it
travels in the commit's metadata.

A ledger lives as long as one assignment of its partition. After a revocation it is closed: what settles
late changes nothing, because the partition may already be somebody else's.

Pure, single-threaded; knows nothing of Faust or Kafka.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from streams.commit import metadata
from streams.commit.metadata import Run
from streams.commit.recent import Recent

__all__ = ["Commit", "Jump", "PartitionLedger"]

#: Above this much metadata the agent takes nothing more of the partition until an early offset settles.
_CONGESTED_BYTES = metadata.METADATA_MAX_BYTES * 3 // 4
#: Enough for what Debezium repeats after a kill: its unflushed seconds, spread over the partitions.
_RECENT_DELIVERIES = 8192


@dataclass(frozen=True, slots=True)
class Commit:
    """What to commit: the first unsettled offset, and the settled ones beyond it as metadata."""

    offset: int
    metadata: str


@dataclass(frozen=True, slots=True)
class Jump:
    """The first record of an assignment is not the one at the committed offset.

    Found behind it, the records between were deleted unread. Found before it, the log was cut or made anew.
    """

    committed: int
    found: int


class PartitionLedger:
    """Tracks the received and settled offsets of one assigned partition.

    Args:
        committed: the offset that the group had committed when the partition was assigned; None if there was none.
        committed_metadata: what was committed with it.
        generation: the consumer group's generation of this assignment.

    `recent` holds the deliveries of this partition that were taken lately. `jump` is set by the first record, if it
    is not the one at the committed offset.
    """

    __slots__ = (
        "_known",
        "_known_firsts",
        "_last_commit",
        "_mark",
        "_next",
        "_pending",
        "_resumes_at",
        "closed",
        "congested",
        "generation",
        "jump",
        "recent",
    )

    def __init__(
        self, *, committed: int | None = None, committed_metadata: str = "", generation: int = 0
    ) -> None:
        self._next = committed
        self._resumes_at = committed
        self.jump: Jump | None = None
        # Received and not settled, in the order received, which is ascending: the first key is the commit.
        self._pending: dict[int, None] = {}
        # What an earlier owner settled beyond its commit.
        self._known = metadata.decode(committed, committed_metadata) if committed is not None else []
        self._known_firsts = [first for first, _ in self._known]
        self._last_commit = Commit(committed, committed_metadata) if committed is not None else None
        # Of the last reset of the group's offsets: every commit carries it on.
        self._mark = metadata.reset_mark(committed_metadata)
        self.closed = False
        self.congested = False
        self.generation = generation
        self.recent = Recent(size=_RECENT_DELIVERIES)

    def __len__(self) -> int:
        """How many received offsets are not settled."""
        return len(self._pending)

    def receive(self, offset: int) -> bool:
        """Take note of a record. False if it is settled already, or was received before: skip it."""
        if self._resumes_at is not None:
            self._begin(offset, committed=self._resumes_at)
            self._resumes_at = None
        if self._next is not None and offset < self._next:
            return False
        self._next = offset + 1
        index = bisect_right(self._known_firsts, offset) - 1
        if index >= 0 and offset < self._known[index][1]:
            return False
        self._pending[offset] = None
        return True

    def _begin(self, offset: int, *, committed: int) -> None:
        """The first record of this assignment: does the log go on where the group had committed?"""
        if offset == committed:
            return
        self.jump = Jump(committed, offset)
        if offset < committed:
            # Clients don't read before a commit unless the log has no such offset any more: then what was known of
            # it says nothing of the records that it has now.
            self._next = None
            self._known = []
            self._known_firsts = []
            self.recent = Recent(size=_RECENT_DELIVERIES)

    def settle(self, offset: int) -> None:
        """Every delivery of this record is settled. Settling twice, or after `close`, changes nothing."""
        self._pending.pop(offset, None)

    def close(self) -> None:
        """The partition is no longer ours: nothing more is committed from here."""
        self.closed = True

    def go_on_from(self, before: "PartitionLedger") -> None:
        """The partition was ours before: what was taken and settled then needs no attempt now.

        Only where the group's commit has not gone back or away since, and the offsets were not reset (docs/adr/0021):
        else the same events may come once more, and they are wanted.
        """
        if before._last_commit is not None and not self.was_set_back(before):  # noqa: SLF001 - its own kind
            self.recent = before.recent.without(before._pending)  # noqa: SLF001 - as above

    def was_set_back(self, before: "PartitionLedger") -> bool:
        """Whether the group's commit has gone back or away since, or the offsets were reset."""
        last, resumes_at = before._last_commit, self._resumes_at  # noqa: SLF001 - its own kind
        has_gone = last is not None and (resumes_at is None or resumes_at < last.offset)
        return has_gone or before._mark != self._mark  # noqa: SLF001 - as above

    def commit(self) -> Commit | None:
        """What to commit now; None if there is nothing that the last one did not say."""
        commit = self.standing()
        return None if commit == self._last_commit else commit

    def standing(self) -> Commit | None:
        """What a commit says now, whether or not the last one did; None where nothing is known."""
        if self.closed or self._next is None:
            return None
        offset = next(iter(self._pending), None)
        if offset is None:
            # All that was received is settled: straight on to what comes next, over what an earlier owner settled.
            offset = self._skip_known(self._next)
        text = metadata.encode(offset, self._settled_beyond(offset), mark=self._mark)
        self.congested = len(text) > _CONGESTED_BYTES
        return Commit(offset, text)

    def committed(self, commit: Commit) -> None:
        """Kafka acknowledged this commit."""
        self._last_commit = commit

    def uncommitted(self) -> None:
        """The last commit may not have arrived: the next `commit` says it again."""
        self._last_commit = None

    def _skip_known(self, offset: int) -> int:
        index = bisect_right(self._known_firsts, offset) - 1
        return max(offset, self._known[index][1]) if index >= 0 else offset

    def _settled_beyond(self, base: int) -> Iterator[Run]:
        """Settled runs beyond `base`: between the pending offsets, then what was known of those not yet received."""
        assert self._next is not None  # noqa: S101 - only called from commit, which checked it
        position = base
        for offset in self._pending:
            if offset > position:
                yield position, offset
            position = offset + 1
        end = self._skip_known(self._next)
        if end > position:
            yield position, end
        for first, known_end in self._known:
            if first > end:
                yield first, known_end
