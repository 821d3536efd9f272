"""The deliveries taken lately, so that most duplicates die here.

Debezium repeats what it had not yet flushed when it was killed, and a scheduler what it had not yet
committed. A repeated record comes to the same partition, so to the worker that saw it first. Bounded, per
partition, in memory: a help, not a guarantee. The guarantee is the one id that every repetition carries
(INV-4), by which receivers deduplicate.

It outlives a rebalance in which its partition stays with the worker, but for what was not settled: that was left
to the next owner, who may be this worker again.
"""

from collections.abc import Container, Hashable, Mapping
from types import MappingProxyType
from typing import Self

__all__ = ["Recent"]


class Recent:
    """Remembers up to `size` keys, and the offsets of the records that brought them; the oldest is forgotten first.

    >>> recent = Recent(size=2)
    >>> [recent.first_time(key, offset=offset) for offset, key in enumerate(("a", "a", "b", "c", "a"))]
    [True, False, True, True, True]
    >>> after_a_rebalance = recent.without({4})
    >>> [after_a_rebalance.first_time(key, offset=5) for key in ("c", "a")]
    [False, True]
    """

    __slots__ = ("_offsets", "_size")

    def __init__(self, *, size: int, known: Mapping[Hashable, int] = MappingProxyType({})) -> None:
        self._offsets = dict(known)
        self._size = size

    def first_time(self, key: Hashable, *, offset: int) -> bool:
        """Is this key new here? Remembers it."""
        if key in self._offsets:
            return False
        self._offsets[key] = offset
        if len(self._offsets) > self._size:
            del self._offsets[next(iter(self._offsets))]
        return True

    def without(self, offsets: Container[int]) -> Self:
        """The same memory, but for what the records at these offsets brought."""
        known = {key: offset for key, offset in self._offsets.items() if offset not in offsets}
        return type(self)(size=self._size, known=known)
