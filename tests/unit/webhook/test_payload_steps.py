"""What a match may cost at most, counted in calls and not in time: hostile filters, and where the bound stands."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.payload_steps import MAX_STEPS, Steps, TooManyStepsError

ABSENT: Any = [{"exists": False}]

#: Of Python and C together, to take one step and do what it is for.
CALLS_PER_STEP = 8


def within(depth: int, leaf: Any) -> Any:
    """A leaf of the filter below so many objects."""
    for _ in range(depth):
        leaf = {"q": leaf}
    return leaf


HOSTILE: dict[str, tuple[Any, Any]] = {
    "missing, deep, beside what must be there": (
        {"a": {f"{n:02}": within(5, ABSENT) for n in range(70)} | {"z": [1]}},
        {"a": [{}] * 10_000},
    ),
    "missing, deep, and the last of them there": (
        {"a": {f"{n:02}": within(5, ABSENT) for n in range(70)}},
        {"a": [{"69": within(5, 1)}] * 10_000},
    ),
    "missing, many": (
        {"a": {f"{n:02}": ABSENT for n in range(95)} | {"z": [*ABSENT, 1]}},
        {"a": [{"z": 0}] * 100_000},
    ),
    "there, many": (
        {"a": {f"{n:02}": [{"anything-but": 1}] for n in range(99)}},
        {"a": [{f"{n:02}": 0 for n in range(98)} | {"98": 1}] * 5_000},
    ),
    "arrays at every depth": (
        {"a": within(6, [1])},
        {"a": [within(5, [[{"q": [0]}]] * 10)] * 20_000},
    ),
    "ranges": ({"a": [{"numeric": [">=", -n, "<", -n]} for n in range(10)]}, {"a": [*range(100_000)]}),
    "texts": ({"a": [{"suffix": f"{n}x"} for n in range(100)]}, {"a": ["9"] * 100_000}),
    "arrays without anything in them": ({"a": [1]}, {"a": [[]] * 100_000}),
    "arrays within each other": ({"a": {"b": [1]}}, {"a": [[[[]] * 10] * 100] * 100}),
}


@pytest.mark.parametrize(("pattern", "payload"), HOSTILE.values(), ids=HOSTILE)
def test_no_filter_and_payload_cost_more_than_the_bound(pattern: Any, payload: Any) -> None:
    """INV-6: one customer's filter holds nobody up; no match is more than `MAX_STEPS` and what belongs to each."""
    one = PayloadFilter.of(pattern)
    answers: list[bool] = []

    assert calls(lambda: answers.append(one.matches(payload))) < CALLS_PER_STEP * MAX_STEPS
    assert answers == [False]


def test_what_is_missing_costs_one_step_however_deep_the_filter_is() -> None:
    """Whether an object of the filter matches where there is nothing is known before there is a payload."""
    shallow, deep = (PayloadFilter.of({"a": within(depth, ABSENT)}) for depth in (1, 7))

    assert deep.matches({})
    assert calls(lambda: deep.matches({})) == calls(lambda: shallow.matches({}))


@pytest.mark.parametrize(
    ("alternatives", "each"),
    [
        ([1], 1),
        ([1, *range(-8, 0)], 1),
        ([1, *range(-9, 0)], 2),
        ([1, {"anything-but": [0, *range(-9, 0)]}], 2),
        ([1, *range(-32, 0)], 4),
        ([1, {"prefix": "x"}], 2),
        ([1, {"suffix": "x"}], 2),
        ([{"numeric": [">", 0, "<", 2]}], 2),
    ],
)
def test_the_bound_stands_where_the_reference_says(alternatives: list[Any], each: int) -> None:
    """Of the elements of an array, as many as there are steps for; one more, and the payload is not wanted."""
    one = PayloadFilter.of({"a": alternatives})
    last = (MAX_STEPS - 2) // each  # two: the payload, and the field in it

    assert one.matches({"a": [*[0] * (last - 1), 1]})
    assert not one.matches({"a": [*[0] * last, 1]})


def test_what_must_be_there_is_looked_for_first() -> None:
    """An order with thousands of lines is decided at one look a line, however much else the filter asks of a line."""
    one = PayloadFilter.of({"lines": {f"a{n:02}": ABSENT for n in range(95)} | {"z": ["x"]}})

    assert one.matches({"lines": [*[{"b": 1}] * 9_000, {"z": "x"}]})


@pytest.mark.parametrize("count", [1, 99, 100, 1_000])
def test_the_decision_is_one_in_the_worker_and_in_a_recovery(count: int) -> None:
    """It hangs on what the filter says and on the payload: not on the order of names, nor on what was asked before."""
    fields = {f"{n:02}": [{"anything-but": 1}] for n in range(99)}
    payload = {"a": [*[{f"{n:02}": 0 for n in range(98)} | {"98": 1}] * count, dict.fromkeys(fields, 0)]}
    there = PayloadFilter.of({"a": fields})
    turned = PayloadFilter.of({"a": dict(reversed(fields.items()))})

    assert {one.matches(payload) for one in (there, turned, there, turned)} == {
        2 + 199 * (count + 1) <= MAX_STEPS
    }


def test_steps_end() -> None:
    """The last is taken; beyond that each is refused, however many times it is tried."""
    steps = Steps(2)
    steps.take(2)
    for _ in range(2):
        with pytest.raises(TooManyStepsError):
            steps.take(1)


def calls(work: Callable[[], object]) -> int:
    """How many calls some work takes, of Python functions, of C functions, and of generators that go on."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
