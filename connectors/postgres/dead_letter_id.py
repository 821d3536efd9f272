"""The id of a dead letter: made of its place on `outbox.dead-letter` and of when Kafka got it there.

A UUID of version 8 (RFC 9562, section 5.8): 48 bits of time, 14 of the partition, 60 of the offset. So a record has the
same id however often it is read, ids stand in the order of time, and an id alone says in which day's partition its
row lives. The time is a part of it because a topic that is made anew begins at offset 0 again.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

__all__ = ["dead_letter_id"]

_PARTITION_BITS: Final = 14
_OFFSET_BITS: Final = 60
_VERSION: Final = 0x8 << 76
_VARIANT: Final = 0b10 << 62
_LOW: Final = (1 << 62) - 1


def dead_letter_id(*, died_at_ms: int, partition: int, offset: int) -> UUID:
    """Compose the id. `connectors.postgres.delivery_id.created_at_of` reads the time back.

    >>> dead_letter_id(died_at_ms=0x0190_0000_0000, partition=3, offset=17)
    UUID('01900000-0000-8000-b000-000000000011')

    Raises:
        ValueError: there is no such partition on any cluster (2^14 or more), or no such offset.
    """
    if not 0 <= partition < 1 << _PARTITION_BITS or not 0 <= offset < 1 << _OFFSET_BITS:
        raise ValueError(f"{partition}/{offset} is no place of a dead letter")
    place = partition << _OFFSET_BITS | offset
    return UUID(int=died_at_ms << 80 | _VERSION | place >> 62 << 64 | _VARIANT | place & _LOW)
