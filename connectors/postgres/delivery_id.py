"""The id of a delivery: made of its event and its target, so that whoever meets an attempt of it knows its row.

A UUID of version 8 (RFC 9562, section 5.8): first the 48 bits of when the event was committed, then 74 bits of a hash
of event and target. So ids stand in the order of time, and an id alone says in which day's partition its row lives.
It stops nothing from being delivered twice, and is on no wire: the webhook id is the event's.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import blake2b
from typing import Final
from uuid import UUID

from connectors.epoch import from_epoch_ms

__all__ = ["created_at_of", "delivery_id"]

_HASH_BITS: Final = 74
_VERSION: Final = 0x8 << 76
_VARIANT: Final = 0b10 << 62
_LOW: Final = (1 << 62) - 1
#: 9999-12-31, the last day that a datetime can hold.
_LAST_MS: Final = 253_402_214_400_000


def delivery_id(*, event_id: UUID, target: str, created_at_ms: int) -> UUID:
    """Compose the id from the event's id and time (epoch milliseconds, from 1970 on) and the target's name.

    >>> delivery_id(event_id=UUID(int=1), target="handler:confirm", created_at_ms=0x0190_0000_0000)
    UUID('01900000-0000-8f19-98be-2d84303fd084')
    """
    digest = blake2b(event_id.bytes + target.encode(), digest_size=10).digest()
    hashed = int.from_bytes(digest) >> (80 - _HASH_BITS)
    return UUID(int=created_at_ms << 80 | _VERSION | hashed >> 62 << 64 | _VARIANT | hashed & _LOW)


def created_at_of(identifier: UUID) -> datetime | None:
    """When the event of a delivery was committed, to the millisecond; None for what is no delivery's id.

    >>> created_at_of(UUID("01900000-0000-8f19-98be-2d84303fd084"))
    datetime.datetime(2024, 6, 10, 2, 35, 18, 400000, tzinfo=datetime.timezone.utc)
    """
    created_at_ms = identifier.int >> 80
    if identifier.version != 8 or created_at_ms > _LAST_MS:  # noqa: PLR2004 - the version above
        return None
    return from_epoch_ms(created_at_ms)
