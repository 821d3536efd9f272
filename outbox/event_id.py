"""The id of an event: a UUID of version 7 (RFC 9562, section 5.7), whose first 48 bits are the time.

Ids in the order of time keep the primary key's inserts at the right edge of its index, where random ones
(version 4) would touch a different page each, and write that page to the WAL in full after every checkpoint.
The id only identifies: nothing here reads the time back out of it, and rows with ids of any other version are
as good.
"""

from __future__ import annotations

import secrets
import time
from typing import Final
from uuid import UUID

__all__ = ["new_event_id", "uuid7"]

RANDOM_BITS: Final = 74
_VERSION: Final = 0x7 << 76
_VARIANT: Final = 0b10 << 62


def uuid7(*, unix_ms: int, random_bits: int) -> UUID:
    """Compose an id from the time in milliseconds and 74 random bits.

    >>> uuid7(unix_ms=0x0190_0000_0000, random_bits=(1 << 74) - 1)
    UUID('01900000-0000-7fff-bfff-ffffffffffff')
    """
    rand_a, rand_b = random_bits >> 62, random_bits & ((1 << 62) - 1)
    return UUID(int=unix_ms << 80 | _VERSION | rand_a << 64 | _VARIANT | rand_b)


def new_event_id() -> UUID:
    """Return a new id, from the system's clock and its source of secure randomness."""
    return uuid7(unix_ms=time.time_ns() // 1_000_000, random_bits=secrets.randbits(RANDOM_BITS))
