"""The group's offsets and the log have parted: saying so, because clients begin elsewhere in silence (CASES 31).

Nothing is decided here. Whatever the log has is delivered (INV-1), which may repeat much, and what it no longer has is
gone from Kafka: an operator has to know of either.
"""

from collections.abc import Iterable

import structlog

from streams.commit.ledger import Jump, PartitionLedger
from streams.commit.ledgers import Partition

__all__ = ["receive", "tell_no_offsets"]

_log = structlog.get_logger("streams.commit")


def receive(ledger: PartitionLedger, partition: Partition, offset: int) -> bool:
    """Note a record in its ledger, and say it if it is not the one that the commit names. False: skip it."""
    received = ledger.receive(offset)
    if ledger.jump is not None:
        _tell_jump(partition, ledger.jump)
        ledger.jump = None
    return received


def tell_no_offsets(partitions: Iterable[Partition]) -> None:
    """The group has no offset of these: as at its first start, or because they have expired."""
    listed = " ".join(f"{topic}/{number}" for topic, number in sorted(partitions))
    if listed:
        _log.warning(
            "no_committed_offsets",
            partitions=listed,
            what="read from their beginning: right at a group's first start, else its offsets have expired "
            "(offsets.retention.minutes) and all of it is delivered again",
        )


def _tell_jump(partition: Partition, jump: Jump) -> None:
    topic, number = partition
    what = (
        f"{jump.found - jump.committed} records were deleted before they were read: raise the topic's retention, and "
        "append their events again from the outbox table"
        if jump.found > jump.committed
        else "the log was cut or made anew: all that it has is delivered, some of it again"
    )
    _log.error(
        "log_begins_elsewhere",
        topic=topic,
        partition=number,
        committed=jump.committed,
        found=jump.found,
        what=what,
    )
