"""The grammar of a payload filter's leaf: from a list of alternatives to what may stand in a field. Pure.

Place in the data's way: between a filter's JSON and `payload_leaf`. An error names the place, and no value.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from connectors.webhook.errors import PayloadFilterInvalidError
from connectors.webhook.payload_leaf import Leaf, Literal, Range, Values, is_number

__all__ = ["MAX_RANGES", "leaf", "pointed"]

MAX_RANGES: Final = 10
"""Of one list: each is held against every element of an array."""

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NAME_CHARS: Final = 64
_OPERATORS: Final = "prefix, suffix, anything-but, numeric or exists"
_PAIRS: Final = (2, 4)


def leaf(alternatives: Sequence[object], at: str) -> tuple[Leaf, int]:
    """Compile a list of alternatives. Gives how many there are, too, those within an `anything-but` included.

    Raises:
        PayloadFilterInvalidError: names the place.
    """
    if not alternatives:
        raise PayloadFilterInvalidError(at, "a list holds at least one alternative")
    found = _Found()
    for index, alternative in enumerate(alternatives):
        place = pointed(at, index)
        if isinstance(alternative, Mapping):
            found.add_operator(alternative, place)
        else:
            found.literals.append(_literal(alternative, place))
    return found.leaf(), found.count


class _Found:
    """What was found in a list so far."""

    def __init__(self) -> None:
        self.literals: list[Literal] = []
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.ranges: list[Range] = []
        self.unwanted: list[list[Literal]] = []
        self.exists: list[bool] = []

    @property
    def count(self) -> int:
        kinds: tuple[Sequence[object], ...] = (
            self.literals,
            self.prefixes,
            self.suffixes,
            self.ranges,
            self.exists,
            *self.unwanted,
        )
        return sum(len(kind) for kind in kinds)

    def leaf(self) -> Leaf:
        unwanted = None
        if self.unwanted:
            # What one of them lets through is wanted: left out is only what all of them leave out.
            first, *others = self.unwanted
            unwanted = Values(value for value in first if all(value in Values(other) for other in others))
        return Leaf(
            literals=self.literals,
            prefixes=tuple(self.prefixes),
            suffixes=tuple(self.suffixes),
            ranges=tuple(self.ranges),
            unwanted=unwanted,
            present=True in self.exists,
            absent=False in self.exists,
        )

    def add_operator(self, alternative: Mapping[Any, object], at: str) -> None:
        """Add `{"prefix": "a"}`, or another."""
        if len(alternative) != 1:
            raise _no_operator(at)
        ((name, operand),) = alternative.items()
        place = pointed(at, name)
        match name:
            case "prefix":
                self.prefixes.append(_text(operand, place))
            case "suffix":
                self.suffixes.append(_text(operand, place))
            case "anything-but":
                self.unwanted.append(_values(operand, place))
            case "numeric":
                self.ranges.append(_range(operand, place))
                if len(self.ranges) > MAX_RANGES:
                    raise PayloadFilterInvalidError(place, f"one list holds {MAX_RANGES} of these at most")
            case "exists":
                if not isinstance(operand, bool):
                    raise PayloadFilterInvalidError(place, "exists is true or false")
                self.exists.append(operand)
            case _:
                raise _no_operator(at)


def _no_operator(at: str) -> PayloadFilterInvalidError:
    return PayloadFilterInvalidError(at, f"an object among the alternatives holds one of {_OPERATORS}")


def _literal(value: object, at: str) -> Literal:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and is_number(value):
        return value
    raise PayloadFilterInvalidError(
        at, f"an alternative is a text, a number, true, false, null, or an object with {_OPERATORS}"
    )


def _text(operand: object, at: str) -> str:
    if not isinstance(operand, str) or not operand:
        raise PayloadFilterInvalidError(at, "this is a text of one character at least")
    return operand


def _values(operand: object, at: str) -> list[Literal]:
    if not isinstance(operand, list):
        return [_literal(operand, at)]
    if not operand:
        raise PayloadFilterInvalidError(at, "a list holds at least one alternative")
    return [_literal(value, pointed(at, index)) for index, value in enumerate(operand)]


def _range(operand: object, at: str) -> Range:
    """One comparison, or two that must both hold."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(operand, list) and len(operand) in _PAIRS:
        pairs = list(zip(operand[::2], operand[1::2], strict=True))
    if not pairs or not all(
        isinstance(sign, str) and sign in _COMPARISONS and is_number(bound) for sign, bound in pairs
    ):
        raise PayloadFilterInvalidError(
            at, 'numeric takes one comparison or two, like [">=", 1, "<", 5], with =, <, <=, > or >='
        )
    return tuple((_COMPARISONS[sign], bound) for sign, bound in pairs)


def pointed(at: str, part: object) -> str:
    """A JSON pointer (RFC 6901), one step further. It may be shown anywhere, so a long name is cut.

    >>> pointed("/order", "a/b")
    '/order/a~1b'
    """
    name = str(part).replace("~", "~0").replace("/", "~1").encode(errors="replace").decode()
    return f"{at}/{name if len(name) <= _NAME_CHARS else name[:_NAME_CHARS] + '…'}"
