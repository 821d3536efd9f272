"""A payload filter: which events an endpoint wants, by what stands in their payloads. Pure.

Place in the data's way: kept with an endpoint, compiled once when its record is read, asked for every event of a type
that the endpoint is subscribed to. The form is the widely known event pattern (AWS EventBridge, SNS): a JSON object
that mirrors the payload's, with a list of alternatives at each leaf.

    {"order": {"total": [{"numeric": [">=", 100]}], "country": ["DE", "AT"]}, "test": [{"exists": false}]}

What always holds: all fields must match, and of a leaf's alternatives any. An array of the payload matches if any of
its elements does; a filter's object is held against one element as a whole. A field that is not there matches nothing
but `{"exists": false}`. The grammar is bounded, and that alone bounds no match, which takes the filter's fields times
the payload's elements: so a match takes `MAX_STEPS` at most (`payload_steps`), and what would take more is not wanted.
The decision hangs on filter and payload only. An error names the place in the filter, and no value of it. Must not
read an event: that is `Endpoint.wants`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import orjson

from connectors.webhook.errors import PayloadFilterInvalidError
from connectors.webhook.payload_alternatives import leaf, pointed
from connectors.webhook.payload_leaf import MISSING, Leaf
from connectors.webhook.payload_steps import Steps, TooManyStepsError

__all__ = ["MAX_ALTERNATIVES", "MAX_DEPTH", "MAX_FILTER_BYTES", "PayloadFilter"]

MAX_FILTER_BYTES: Final = 4_096
"""Of the filter as JSON, without spaces. So many endpoints hold one that it has to be small."""

MAX_DEPTH: Final = 8
"""Objects within each other."""

MAX_ALTERNATIVES: Final = 100
"""All alternatives of a filter together, those within an `anything-but` included."""


class _Fields:
    """An object of the filter: names, and what must hold of each."""

    __slots__ = ("_fields", "matches_missing")

    def __init__(self, fields: "Iterable[tuple[str, _Fields | Leaf]]") -> None:
        # First what needs its field to be there, which decides most often at one look; leaves before what lies deep.
        # By name then, so that filters that say the same take the same steps, in whatever order their names stand.
        self._fields = sorted(
            fields, key=lambda field: (field[1].matches_missing, isinstance(field[1], _Fields), field[0])
        )
        # What holds no object, or isn't there, has none of the fields.
        self.matches_missing: bool = all(node.matches_missing for _, node in self._fields)

    def matches(self, value: object, steps: Steps) -> bool:
        has_objects = False
        for element in steps.through(value):
            if isinstance(element, dict):
                if self._hold(element, steps):
                    return True
                has_objects = True
        return self.matches_missing and not has_objects

    def _hold(self, element: dict[str, Any], steps: Steps) -> bool:
        for name, node in self._fields:
            steps.take(1)
            value = element.get(name, MISSING)
            if not (node.matches_missing if value is MISSING else node.matches(value, steps)):
                return False
        return True


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
        """Whether a payload, as JSON, is wanted. Not one that is no object, nor one beyond `MAX_STEPS`."""
        try:
            return isinstance(payload, dict) and self._fields.matches(payload, Steps())
        except TooManyStepsError:
            return False


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
    return _Fields((name, _node(node, pointed(at, name), budget)) for name, node in pattern.items())


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
