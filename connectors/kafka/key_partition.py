"""Which partition a key is in, as Java's default partitioner chose it when Debezium produced the record.

Place in the data's way: beside the producer, for who has to know a key's partition without its record. Pure.
"""

from typing import Final

__all__ = ["key_partition"]

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_WORD: Final = 0xFFFFFFFF


def key_partition(key: bytes, partitions: int) -> int:
    """The partition of a key among so many: murmur2 of its bytes, without the sign.

    >>> key_partition(b"order-42", 1), 0 <= key_partition(b"order-42", 6) < 6
    (0, True)
    """
    return (_murmur2(key) & 0x7FFFFFFF) % partitions


def _murmur2(key: bytes) -> int:
    """The 32-bit hash, as org.apache.kafka.common.utils.Utils.murmur2 computes it."""
    hashed = (_SEED ^ len(key)) & _WORD
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _WORD
        word = (word ^ word >> 24) * _M & _WORD
        hashed = (hashed * _M & _WORD) ^ word
    if rest := key[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _M & _WORD
    hashed = (hashed ^ hashed >> 13) * _M & _WORD
    return hashed ^ hashed >> 15
