"""The deliveries taken lately, so that most duplicates die here.

Debezium repeats what it had not yet flushed when it was killed, and a scheduler what it had not yet
committed. A repeated record comes to the same partition, so to the worker that saw it first. Bounded, per
partition, in memory: a help, not a guarantee. The guarantee is the one id that every repetition carries
(INV-4), by which receivers deduplicate.
"""

from collections.abc import Hashable

__all__ = ["Recent"]


class Recent:
    """Remembers up to `size` keys; the oldest is forgotten first.

    >>> recent = Recent(size=2)
    >>> [recent.first_time(key) for key in ("a", "a", "b", "c", "a")]
    [True, False, True, True, True]
    """

    __slots__ = ("_keys", "_size")

    def __init__(self, *, size: int) -> None:
        self._keys: dict[Hashable, None] = {}
        self._size = size

    def first_time(self, key: Hashable) -> bool:
        """Is this key new here? Remembers it."""
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > self._size:
            del self._keys[next(iter(self._keys))]
        return True
