"""A payload filter: which events an endpoint wants, by what stands in their payloads. Pure.

Place in the data's way: kept with an endpoint, compiled once when its record is read, asked for every event of a type
that the endpoint is subscribed to. The form is the widely known event pattern (AWS EventBridge, SNS): a JSON object
that mirrors the payload's, with a list of alternatives at each leaf.

    {"order": {"total": [{"numeric": [">=", 100]}], "country": ["DE", "AT"]}, "test": [{"exists": false}]}

What always holds: all fields must match, and of a leaf's alternatives any. An array of the payload matches if any of
its elements does; a filter's object is held against one element as a whole. A field that is not there matches nothing
but `{"exists": false}`. The grammar is bounded, and each of a filter's fields walks through a payload once at most. An
error names the place in the filter, and no value of it. Must not read an event: that is `Endpoint.wants`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import orjson

from connectors.webhook.errors import PayloadFilterInvalidError
from connectors.webhook.payload_alternatives import leaf, pointed
from connectors.webhook.payload_leaf import MISSING, Leaf, elements

__all__ = ["MAX_ALTERNATIVES", "MAX_DEPTH", "MAX_FILTER_BYTES", "PayloadFilter"]

MAX_FILTER_BYTES: Final = 4_096
"""Of the filter as JSON, without spaces. So many endpoints hold one that it has to be small."""

MAX_DEPTH: Final = 8
"""Objects within each other."""

MAX_ALTERNATIVES: Final = 100
"""All alternatives of a filter together, those within an `anything-but` included."""


class _Fields:
    """An object of the filter: names, and what must hold of each."""

    __slots__ = ("_fields",)

    def __init__(self, fields: "tuple[tuple[str, _Fields | Leaf], ...]") -> None:
        self._fields = fields

    def matches(self, value: object) -> bool:
        # What holds no object, or isn't there, has none of the fields.
        objects = [element for element in elements(value) if isinstance(element, dict)] or [{}]
        return any(
            all(node.matches(element.get(name, MISSING)) for name, node in self._fields)
            for element in objects
        )


@dataclass(frozen=True, slots=True)
class PayloadFilter:
    """A filter that obeys the grammar.

    Attributes:
        text: the filter as JSON, as it was given but for its spaces.

    >>> wants = PayloadFilter.of({"country": ["DE"], "total": [{"numeric": [">=", 100]}]})
    >>> wants.matches({"country": "DE", "total": 120}), wants.matches({"country": "DE", "total": 99.5})
    (True, False)
    >>> PayloadFilter.of({"lines": {"sku": [{"prefix": "B-"}]}}).matches(
    ...     {"lines": [{"sku": "A-1"}, {"sku": "B-2"}]}
    ... )
    True
    >>> PayloadFilter.of({"order": {"total": [{"at-least": 5}]}})
    Traceback (most recent call last):
    connectors.webhook.errors.PayloadFilterInvalidError: payload_filter at /order/total/0: ...
    """

    text: str = field(repr=False)
    _fields: _Fields = field(repr=False, compare=False)

    @classmethod
    def of(cls, pattern: object) -> Self:
        """Compile a filter.

        Raises:
            PayloadFilterInvalidError: names the place, as a JSON pointer into the filter.
        """
        _check_depth(pattern)
        try:
            text = orjson.dumps(pattern)
        except (
            TypeError
        ):  # half of a surrogate pair, a whole number beyond 64 bits, or nothing that JSON knows
            raise PayloadFilterInvalidError(
                "", "this can't be written as JSON; whole numbers have 64 bits at most"
            ) from None
        if len(text) > MAX_FILTER_BYTES:
            raise PayloadFilterInvalidError("", f"this has {len(text)} bytes; {MAX_FILTER_BYTES} are allowed")
        budget = _Budget()
        return cls(text.decode(), _fields(pattern, "", budget))

    @property
    def pattern(self) -> dict[str, Any]:
        """The filter as a JSON object."""
        found: dict[str, Any] = orjson.loads(self.text)
        return found

    def matches(self, payload: object) -> bool:
        """Whether a payload, as JSON, is wanted. One that is no object never is."""
        return isinstance(payload, dict) and self._fields.matches(payload)


class _Budget:
    """How many alternatives there may still be."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_ALTERNATIVES

    def spend(self, count: int, at: str) -> None:
        self._left -= count
        if self._left < 0:
            raise PayloadFilterInvalidError(at, f"the filter has more than {MAX_ALTERNATIVES} alternatives")


def _check_depth(pattern: object) -> None:
    """Before anything walks it in depth."""
    level: list[tuple[str, object]] = [("", pattern)]
    for _ in range(MAX_DEPTH):
        level = [below for at, value in level for below in _below(at, value)]
    for at, value in level:
        if isinstance(value, Mapping):
            raise PayloadFilterInvalidError(at, f"objects are within each other, {MAX_DEPTH} deep at most")


def _below(at: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for name, node in value.items():
            yield pointed(at, name), node


def _fields(pattern: object, at: str, budget: _Budget) -> _Fields:
    if not isinstance(pattern, Mapping):
        raise PayloadFilterInvalidError(at, "a filter is a JSON object")
    if not pattern:
        raise PayloadFilterInvalidError(at, "an object names at least one field")
    return _Fields(tuple((name, _node(node, pointed(at, name), budget)) for name, node in pattern.items()))


def _node(node: object, at: str, budget: _Budget) -> _Fields | Leaf:
    if isinstance(node, Mapping):
        return _fields(node, at, budget)
    if not isinstance(node, list):
        raise PayloadFilterInvalidError(
            at, 'a field has a list of alternatives, like ["a", "b"], or an object of fields within it'
        )
    found, count = leaf(node, at)
    budget.spend(count, at)
    return found
