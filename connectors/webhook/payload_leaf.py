"""A leaf of a payload filter: the alternatives for one field, and their grammar. Pure.

Place in the data's way: under `payload_filter`. What always holds: true and false are no numbers, 1 and 1.0 are one
number, and texts are compared character by character. An object within the payload matches no alternative but
`{"exists": true}`.
"""

import math
import operator as compare
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from connectors.webhook.errors import PayloadFilterInvalidError

__all__ = ["MISSING", "Leaf", "elements", "operator", "pointed"]

MISSING: Final = object()
"""In the place of a value where there is none."""

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": compare.eq,
    "<": compare.lt,
    "<=": compare.le,
    ">": compare.gt,
    ">=": compare.ge,
}
_NAME_CHARS: Final = 64
_OPERATORS: Final = "prefix, suffix, anything-but, numeric or exists"


class _Literals:
    """Values that are compared as a whole: in sets by kind, since Python takes True for 1."""

    __slots__ = ("_constants", "_others")

    def __init__(self) -> None:
        self._constants: list[bool | None] = []
        self._others: set[str | float] = set()

    def add(self, value: object, at: str) -> None:
        if value is None or isinstance(value, bool):
            self._constants.append(value)
        elif isinstance(value, str) or _is_number(value):
            self._others.add(value)  # type: ignore[arg-type]  # one of the two, as was just asked
        else:
            raise PayloadFilterInvalidError(
                at, f"an alternative is a text, a number, true, false, null, or an object with {_OPERATORS}"
            )

    def __contains__(self, value: object) -> bool:
        if value is None or isinstance(value, bool):
            return any(value is constant for constant in self._constants)
        return value in self._others


class Leaf:
    """What one field may be; any alternative will do."""

    __slots__ = ("_absent", "_literals", "_prefixes", "_present", "_ranges", "_suffixes", "_unless")

    def __init__(self) -> None:
        self._literals = _Literals()
        self._prefixes: tuple[str, ...] = ()
        self._suffixes: tuple[str, ...] = ()
        self._ranges: list[tuple[tuple[Callable[[Any, Any], bool], float], ...]] = []
        self._unless: list[_Literals] = []
        self._present = False
        self._absent = False

    def matches(self, value: object) -> bool:
        """Whether the field's value is wanted; `MISSING` where there is none."""
        if value is MISSING:
            return self._absent
        return self._present or any(self._takes(element) for element in elements(value))

    def _takes(self, value: object) -> bool:
        if isinstance(value, dict):
            return False
        if value in self._literals or any(value not in unwanted for unwanted in self._unless):
            return True
        if isinstance(value, str):
            return value.startswith(self._prefixes) or value.endswith(self._suffixes)
        return (
            bool(self._ranges)
            and _is_number(value)
            and any(all(holds(value, bound) for holds, bound in one) for one in self._ranges)
        )

    def add_literal(self, value: object, at: str) -> None:
        """One more value that is wanted."""
        self._literals.add(value, at)

    def add_prefix(self, operand: object, at: str) -> int:
        """Texts that begin with it."""
        self._prefixes += (_text(operand, at),)
        return 1

    def add_suffix(self, operand: object, at: str) -> int:
        """Texts that end with it."""
        self._suffixes += (_text(operand, at),)
        return 1

    def add_anything_but(self, operand: object, at: str) -> int:
        """Every value that is there and is none of these."""
        unwanted, values = _Literals(), operand if isinstance(operand, list) else [operand]
        if not values:
            raise PayloadFilterInvalidError(at, "a list holds at least one alternative")
        for index, value in enumerate(values):
            unwanted.add(value, pointed(at, index) if isinstance(operand, list) else at)
        self._unless.append(unwanted)
        return len(values)

    def add_numeric(self, operand: object, at: str) -> int:
        """Numbers within the bounds: one comparison, or two that must both hold."""
        bad = PayloadFilterInvalidError(
            at, 'numeric takes one comparison or two, like [">=", 1, "<", 5], with =, <, <=, > or >='
        )
        if not isinstance(operand, list) or len(operand) not in {2, 4}:
            raise bad
        pairs = list(zip(operand[::2], operand[1::2], strict=True))
        if not all(
            isinstance(sign, str) and sign in _COMPARISONS and _is_number(bound) for sign, bound in pairs
        ):
            raise bad
        self._ranges.append(tuple((_COMPARISONS[sign], bound) for sign, bound in pairs))
        return len(pairs)

    def add_exists(self, operand: object, at: str) -> int:
        """Whether the field is there at all, with whatever value."""
        if not isinstance(operand, bool):
            raise PayloadFilterInvalidError(at, "exists is true or false")
        self._present |= operand
        self._absent |= not operand
        return 1


_GRAMMAR: Final[Mapping[str, Callable[[Leaf, object, str], int]]] = {
    "prefix": Leaf.add_prefix,
    "suffix": Leaf.add_suffix,
    "anything-but": Leaf.add_anything_but,
    "numeric": Leaf.add_numeric,
    "exists": Leaf.add_exists,
}


def operator(leaf: Leaf, alternative: Mapping[Any, object], at: str) -> int:
    """Add `{"prefix": "a"}` or another operator. Returns how many alternatives it counts for.

    Raises:
        PayloadFilterInvalidError: names the place.
    """
    if len(alternative) != 1:
        raise PayloadFilterInvalidError(at, f"an object among the alternatives holds one of {_OPERATORS}")
    ((name, operand),) = alternative.items()
    add = _GRAMMAR.get(name)
    if add is None:
        raise PayloadFilterInvalidError(at, f"an object among the alternatives holds one of {_OPERATORS}")
    return add(leaf, operand, pointed(at, name))


def elements(value: object) -> Iterator[object]:
    """A value, or what stands in an array and in the arrays within it. Without recursion: they may be deep."""
    if not isinstance(value, list):
        yield value
        return
    open_arrays = [iter(value)]
    while open_arrays:
        for element in open_arrays[-1]:
            if isinstance(element, list):
                open_arrays.append(iter(element))
                break
            yield element
        else:
            open_arrays.pop()


def pointed(at: str, part: object) -> str:
    """A JSON pointer (RFC 6901), one step further. It may be shown anywhere, so a long name is cut.

    >>> pointed("/order", "a/b")
    '/order/a~1b'
    """
    name = str(part).replace("~", "~0").replace("/", "~1").encode(errors="replace").decode()
    return f"{at}/{name if len(name) <= _NAME_CHARS else name[:_NAME_CHARS] + '…'}"


def _text(operand: object, at: str) -> str:
    if not isinstance(operand, str) or not operand:
        raise PayloadFilterInvalidError(at, "this is a text of one character at least")
    return operand


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
