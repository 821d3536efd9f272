"""A leaf of a payload filter: the alternatives for one field. Pure.

Place in the data's way: under `payload_filter`. What always holds: true and false are no numbers, 1 and 1.0 are one
number, and texts are compared character by character. An object within the payload matches no alternative but
`{"exists": true}`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from connectors.webhook.payload_steps import Steps

__all__ = ["MISSING", "Leaf", "Literal", "Range", "Values", "is_number"]

MISSING: Final = object()
"""In the place of a value where there is none."""

_SMALL: Final = 8

_LOOKED_UP_PER_STEP: Final = 10

Literal = str | float | bool | None
Range = tuple[tuple[Callable[[Any, Any], bool], float], ...]


class Values:
    """Values that are compared as a whole: those that Python takes for numbers apart from true and false."""

    __slots__ = ("_constants", "_others")

    def __init__(self, values: Iterable[Literal]) -> None:
        given = list(values)
        self._constants = tuple({value for value in given if value is None or isinstance(value, bool)})
        others = frozenset(value for value in given if value is not None and not isinstance(value, bool))
        # A small tuple is as fast as a set, and takes a quarter of its memory: there are many filters.
        self._others = tuple(others) if len(others) <= _SMALL else others

    def __contains__(self, value: object) -> bool:
        if value is None or isinstance(value, bool):
            return value in self._constants
        return value in self._others

    def __len__(self) -> int:
        return len(self._constants) + len(self._others)


_NOTHING: Final = Values(())


class Leaf:
    """What one field may be; any alternative will do.

    Args:
        literals: these values.
        prefixes: texts that begin so.
        suffixes: texts that end so.
        ranges: numbers for which all comparisons of one of these hold.
        unwanted: every value that is there but these; None: no such alternative.
        present: whatever its value, if the field is there.
        absent: if the field is not there.

    Attributes:
        matches_missing: whether it matches where the field is not there.
    """

    __slots__ = (
        "_each",
        "_literals",
        "_prefixes",
        "_present",
        "_ranges",
        "_suffixes",
        "_unwanted",
        "matches_missing",
    )

    def __init__(
        self,
        *,
        literals: Sequence[Literal] = (),
        prefixes: tuple[str, ...] = (),
        suffixes: tuple[str, ...] = (),
        ranges: tuple[Range, ...] = (),
        unwanted: Values | None = None,
        present: bool = False,
        absent: bool = False,
    ) -> None:
        self._literals = Values(literals) if literals else _NOTHING
        self._prefixes = prefixes
        self._suffixes = suffixes
        self._ranges = ranges
        self._unwanted = unwanted
        self._present = present
        self.matches_missing: bool = absent
        # Values are looked up together, and the others are held against an element one by one. That counts for
        # values, too: numbers can be chosen such that a set looks at all of them.
        looked_up = len(self._literals) + (0 if unwanted is None else len(unwanted))
        self._each = 1 + looked_up // _LOOKED_UP_PER_STEP + len(prefixes) + len(suffixes) + len(ranges)

    def matches(self, value: object, steps: Steps) -> bool:
        """Whether the field's value is wanted, where there is one.

        Raises:
            TooManyStepsError: that can't be said in the steps that are left.
        """
        if self._present:
            return True
        for element in steps.through(value, self._each):  # noqa: SIM110 - as in `_within`
            if self._takes(element):
                return True
        return False

    def _takes(self, value: object) -> bool:
        if isinstance(value, dict):
            return False
        if value in self._literals or (self._unwanted is not None and value not in self._unwanted):
            return True
        if isinstance(value, str):
            return value.startswith(self._prefixes) or value.endswith(self._suffixes)
        return bool(self._ranges) and is_number(value) and any(_within(value, one) for one in self._ranges)


def _within(value: object, bounds: Range) -> bool:
    for holds, bound in bounds:  # noqa: SIM110 - a generator for each of them would take most of the time
        if not holds(value, bound):
            return False
    return True


def is_number(value: object) -> bool:
    """Whether it is a number as JSON knows them; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
