"""Payload filters: the grammar, what matches, and how an error names its place."""

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.errors import PayloadFilterInvalidError
from connectors.webhook.payload_alternatives import MAX_RANGES
from connectors.webhook.payload_filter import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    MAX_FILTER_BYTES,
    PayloadFilter,
)

#: Few names and values, so that filters and payloads meet.
NAMES = st.sampled_from(["a", "b", "c/d", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 1.0, -1.5]),
    st.sampled_from(["", "a", "ab"]),
)
PAYLOADS = st.dictionaries(
    NAMES,
    st.recursive(
        SCALARS,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)
SIGNS = st.sampled_from(["=", "<", "<=", ">", ">="])
BOUNDS = st.integers(-2, 3) | st.sampled_from([0.5, 1.0])
ALTERNATIVES = st.one_of(
    SCALARS,
    st.sampled_from(["a", "b", "ab"]).map(lambda text: {"prefix": text}),
    st.sampled_from(["a", "b", "ab"]).map(lambda text: {"suffix": text}),
    (st.lists(SCALARS, min_size=1, max_size=3) | SCALARS).map(lambda values: {"anything-but": values}),
    st.tuples(SIGNS, BOUNDS).map(lambda pair: {"numeric": list(pair)}),
    st.tuples(SIGNS, BOUNDS, SIGNS, BOUNDS).map(lambda pairs: {"numeric": list(pairs)}),
    st.booleans().map(lambda there: {"exists": there}),
)
FILTERS = st.dictionaries(
    NAMES,
    st.recursive(
        st.lists(ALTERNATIVES, min_size=1, max_size=3),
        lambda below: st.dictionaries(NAMES, below, min_size=1, max_size=3),
        max_leaves=6,
    ),
    min_size=1,
    max_size=3,
)
ANYTHING = st.recursive(
    SCALARS | st.floats() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("pattern", "wanted", "unwanted"),
    [
        (
            {"a": ["x", 1, True, None]},
            ["x", 1, 1.0, True, None, ["y", "x"]],
            ["X", "1", 0, False, [], {}, {"x": 1}],
        ),
        ({"a": [1]}, [1, 1.0], [True, "1", 1.5]),
        ({"a": [True]}, [True], [1, 1.0, "true", False]),
        ({"a": [None]}, [None, [None]], ["", 0, False]),
        ({"a": [{"prefix": "or"}]}, ["or", "order", ["x", "or"]], ["Order", "o", 0, None]),
        ({"a": [{"suffix": ".eu"}]}, ["x.eu"], ["x.eu ", ".EU"]),
        (
            {"a": [{"anything-but": ["x", 0]}]},
            ["y", 1, None, False, ["x", "y"]],
            ["x", 0, 0.0, [], {}, {"b": 1}],
        ),
        ({"a": [{"anything-but": "x"}]}, ["y"], ["x"]),
        ({"a": [{"anything-but": ["x", "y"]}, {"anything-but": ["y", True]}]}, ["x", True, 1], ["y"]),
        ({"a": [{"numeric": [">=", 1, "<", 5]}]}, [1, 4.99, [9, 2]], [0.99, 5, "2", True, None, [0, 9]]),
        ({"a": [{"numeric": ["=", 2**63]}]}, [2**63], [2**63 - 1]),
        ({"a": [{"exists": True}]}, [None, "", 0, [], {}, {"b": 1}], []),
        ({"a": [{"exists": False}]}, [], [None, "", [], {}]),
        (
            {"a": {"b": ["x"]}},
            [{"b": "x"}, [{"b": "y"}, {"b": "x"}], [[{"b": ["x"]}]]],
            ["x", {}, {"b": "y"}, []],
        ),
        ({"a": {"b": [{"exists": False}]}}, [{}, None, "x", [], {"c": 1}], [{"b": None}]),
        ({"a": {"b": ["x"], "c": ["y"]}}, [[{"b": "x", "c": "y"}]], [[{"b": "x"}, {"c": "y"}]]),
    ],
)
def test_what_a_filter_wants(pattern: object, wanted: list[object], unwanted: list[object]) -> None:
    """Each alternative by itself; arrays by any element; an object's fields within one element."""
    one = PayloadFilter.of(pattern)

    assert [value for value in wanted if not one.matches({"a": value})] == []
    assert [value for value in unwanted if one.matches({"a": value})] == []


def test_all_fields_must_match_and_a_missing_one_does_not() -> None:
    """Fields beside those of the filter are all the same."""
    one = PayloadFilter.of({"a": ["x"], "b": [{"exists": False}]})

    assert one.matches({"a": "x", "z": 1})
    assert not one.matches({"a": "x", "b": None})
    assert not one.matches({"z": 1})


@pytest.mark.parametrize("payload", [None, [], [{"a": "x"}], "x", 1, True])
def test_a_payload_that_is_no_object_is_wanted_by_no_filter(payload: object) -> None:
    """Not by one that asks for nothing to be there, either."""
    assert not PayloadFilter.of({"a": ["x"]}).matches(payload)
    assert not PayloadFilter.of({"a": [{"exists": False}]}).matches(payload)


@pytest.mark.parametrize(
    ("pattern", "pointer"),
    [
        (None, ""),
        ([], ""),
        ("hunter2", ""),
        ({}, ""),
        ({"a": "hunter2"}, "/a"),
        ({"a": []}, "/a"),
        ({"a": {}}, "/a"),
        ({"a": {"b/c~": None}}, "/a/b~1c~0"),
        ({"a": [["hunter2"]]}, "/a/0"),
        ({"a": ["x", {}]}, "/a/1"),
        ({"a": [{"prefix": "x", "suffix": "y"}]}, "/a/0"),
        ({"a": [{"hunter2": 1}]}, "/a/0"),
        ({"a": [{"prefix": ""}]}, "/a/0/prefix"),
        ({"a": [{"suffix": 1}]}, "/a/0/suffix"),
        ({"a": [{"anything-but": []}]}, "/a/0/anything-but"),
        ({"a": [{"anything-but": [{"prefix": "x"}]}]}, "/a/0/anything-but/0"),
        ({"a": [{"anything-but": {"prefix": "x"}}]}, "/a/0/anything-but"),
        ({"a": [{"numeric": 5}]}, "/a/0/numeric"),
        ({"a": [{"numeric": []}]}, "/a/0/numeric"),
        ({"a": [{"numeric": ["=="]}]}, "/a/0/numeric"),
        ({"a": [{"numeric": ["==", 1]}]}, "/a/0/numeric"),
        ({"a": [{"numeric": ["=", True]}]}, "/a/0/numeric"),
        ({"a": [{"numeric": ["=", "1"]}]}, "/a/0/numeric"),
        ({"a": [{"numeric": [[], 1]}]}, "/a/0/numeric"),
        ({"a": [{"numeric": ["=", 1, "<", 2, ">", 3]}]}, "/a/0/numeric"),
        ({"a": [{"exists": 1}]}, "/a/0/exists"),
        ({"a": [float("nan")]}, "/a/0"),
        ({"a": [float("inf")]}, "/a/0"),
        ({"a": [2**64]}, ""),
        ({"a": ["\ud800"]}, ""),
    ],
)
def test_an_error_names_the_place_and_no_value(pattern: object, pointer: str) -> None:
    """A filter may quote what is in payloads, so its values stay out of logs (INV-9)."""
    with pytest.raises(PayloadFilterInvalidError) as raised:
        PayloadFilter.of(pattern)

    assert raised.value.pointer == pointer
    assert "hunter2" not in str(raised.value)


def nested(depth: int) -> dict[str, Any]:
    leaf: Any = ["x"]
    for _ in range(depth):
        leaf = {"a": leaf}
    return leaf  # type: ignore[no-any-return]


def test_the_grammar_is_bounded() -> None:
    """Depth, alternatives and size, of which many endpoints hold one; what a match costs is `test_payload_steps`."""
    assert PayloadFilter.of(nested(MAX_DEPTH)).pattern == nested(MAX_DEPTH)
    with pytest.raises(PayloadFilterInvalidError, match=f"{MAX_DEPTH} deep at most"):
        PayloadFilter.of(nested(MAX_DEPTH + 1))
    with pytest.raises(PayloadFilterInvalidError, match="deep at most"):
        PayloadFilter.of(nested(100_000))
    PayloadFilter.of({"a": list(range(MAX_ALTERNATIVES))})
    with pytest.raises(
        PayloadFilterInvalidError, match=re.escape(f"at /b: the filter has more than {MAX_ALTERNATIVES}")
    ):
        PayloadFilter.of({"a": [{"anything-but": list(range(MAX_ALTERNATIVES))}], "b": [1]})
    PayloadFilter.of({"a": [{"numeric": ["=", n]} for n in range(MAX_RANGES)]})
    with pytest.raises(PayloadFilterInvalidError, match=f"{MAX_RANGES} of these at most"):
        PayloadFilter.of({"a": [{"numeric": ["=", n]} for n in range(MAX_RANGES + 1)]})
    with pytest.raises(PayloadFilterInvalidError, match=f"{MAX_FILTER_BYTES} are allowed"):
        PayloadFilter.of({"a": ["x" * MAX_FILTER_BYTES]})


def test_arrays_within_arrays_are_walked_however_deep() -> None:
    """No payload that is JSON ends in a recursion error, which would hold its whole partition."""
    payload = orjson.loads(b'{"a":' + b"[" * 900 + b'"x"' + b"]" * 900 + b"}")

    assert PayloadFilter.of({"a": ["x"]}).matches(payload)
    assert not PayloadFilter.of({"a": ["y"]}).matches(payload)


@given(FILTERS, PAYLOADS)
def test_a_filter_matches_as_its_definition_says(pattern: dict[str, Any], payload: dict[str, Any]) -> None:
    """Against a second reading of the definition, written without the first one's shortcuts."""
    assert PayloadFilter.of(pattern).matches(payload) == _fields_match(pattern, payload)


@given(FILTERS)
def test_a_filter_survives_its_text(pattern: dict[str, Any]) -> None:
    """What is stored is what was given, the order of names included, and compiles to the same filter."""
    one = PayloadFilter.of(pattern)

    assert list(one.pattern.items()) == list(pattern.items())
    assert PayloadFilter.of(one.pattern) == one
    assert hash(PayloadFilter.of(one.pattern)) == hash(one)


@given(ANYTHING, PAYLOADS)
def test_whatever_is_given_is_a_filter_or_refused(pattern: object, payload: object) -> None:
    """No other exception leaves, at compiling or at matching."""
    try:
        one = PayloadFilter.of(pattern)
    except PayloadFilterInvalidError:
        return
    assert one.matches(payload) in {True, False}


_ABSENT = object()


def _fields_match(pattern: dict[str, Any], value: Any) -> bool:
    objects = [one for one in _flat(value) if isinstance(one, dict)] or [{}]
    return any(
        all(_node_matches(node, one.get(name, _ABSENT)) for name, node in pattern.items()) for one in objects
    )


def _node_matches(node: Any, value: Any) -> bool:
    if isinstance(node, dict):
        return _fields_match(node, [] if value is _ABSENT else value)
    return any(_alternative_matches(alternative, value) for alternative in node)


def _alternative_matches(alternative: Any, value: Any) -> bool:
    if isinstance(alternative, dict) and "exists" in alternative:
        return bool((value is not _ABSENT) == alternative["exists"])
    if value is _ABSENT:
        return False
    return any(_one_matches(alternative, one) for one in _flat(value) if not isinstance(one, dict))


def _one_matches(alternative: Any, one: Any) -> bool:
    match alternative:
        case {"prefix": text}:
            return isinstance(one, str) and one[: len(text)] == text
        case {"suffix": text}:
            return isinstance(one, str) and len(one) >= len(text) and one[len(one) - len(text) :] == text
        case {"anything-but": [*values]}:
            return not any(_same(value, one) for value in values)
        case {"anything-but": value}:
            return not _same(value, one)
        case {"numeric": [sign, bound, *rest]}:
            holds = _is_number(one) and _compares(sign, one, bound)
            return holds and (not rest or _one_matches({"numeric": rest}, one))
        case _:
            return _same(alternative, one)


def _compares(sign: str, one: Any, bound: Any) -> bool:
    holds = {"=": one == bound, "<": one < bound, "<=": one <= bound, ">": one > bound, ">=": one >= bound}
    return bool(holds[sign])


def _same(one: Any, other: Any) -> bool:
    if _is_number(one) and _is_number(other):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return type(value) in {int, float}


def _flat(value: Any) -> list[Any]:
    return [inner for one in value for inner in _flat(one)] if isinstance(value, list) else [value]
