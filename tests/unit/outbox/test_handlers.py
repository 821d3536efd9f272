"""The registry: which functions are called for a type, and what is refused before the first event."""

from __future__ import annotations

import functools
import math
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from outbox import Event, EventFilterError, Handlers, RegistrationError
from outbox import handlers as default_registry


def plain(event: Event) -> None:
    """Do nothing."""


async def coroutine(event: Event) -> None:
    """Do nothing."""


def two(shop: str, event: Event) -> None:
    """Do nothing."""


async def async_two(shop: str, event: Event) -> None:
    """Do nothing."""


def generator(_event: Event) -> Iterator[None]:
    yield


async def async_generator(_event: Event) -> AsyncIterator[None]:
    yield


def no_arguments() -> None:
    """Do nothing."""


class PlainCallable:
    def __call__(self, event: Event) -> None:
        """Do nothing."""

    def method(self, event: Event) -> None:
        """Do nothing."""


class AsyncCallable:
    async def __call__(self, event: Event) -> None:
        """Do nothing."""

    async def method(self, event: Event) -> None:
        """Do nothing."""


class GeneratorCallable:
    def __call__(self, _event: Event) -> Iterator[None]:
        yield


def names(handlers: Handlers, event_type: str) -> list[str]:
    return [handler.name for handler in handlers.for_type(event_type)]


def test_a_type_has_the_handlers_whose_patterns_match_in_the_order_of_registration() -> None:
    """Several named handlers a type; exact, subtree and all; nobody's for a type that none has."""
    handlers = Handlers()
    handlers.on("order.*", name="subtree")(plain)
    handlers.on("order.created", name="exact")(plain)
    handlers.on("*", name="all")(plain)
    handlers.on("order.created", name="second")(coroutine)
    assert names(handlers, "order.created") == ["subtree", "exact", "all", "second"]
    assert names(handlers, "order.line.added") == ["subtree", "all"]
    assert names(handlers, "order") == ["all"]
    assert names(Handlers(), "order") == []


def test_a_handler_registered_later_is_found() -> None:
    """What was asked before is not remembered past a registration."""
    handlers = Handlers()
    assert names(handlers, "a") == []
    handlers.on("a", name="late")(plain)
    assert names(handlers, "a") == ["late"]


def test_types_from_outside_do_not_fill_the_memory() -> None:
    """A producer with ever new types doesn't make the worker grow."""
    handlers = Handlers()
    for number in range(25_000):
        handlers.for_type(f"t.{number}")
    assert len(handlers._by_type) <= 10_000


def test_registering_gives_the_function_back() -> None:
    """A decorated function can still be called and tested as what it is."""
    assert Handlers().on("a")(plain) is plain


def test_a_handler_has_what_it_was_registered_with() -> None:
    """Name, pattern, limits: what the worker goes by."""
    handlers = Handlers()
    handlers.on("order.*", name="billing", timeout_s=2.5, concurrency=3)(coroutine)
    handler = handlers.by_name("billing")
    assert handler is not None
    assert (handler.filter.pattern, handler.function, handler.is_async) == ("order.*", coroutine, True)
    assert (handler.timeout, handler.concurrency) == (timedelta(seconds=2.5), 3)
    assert [*handlers] == [handler]
    assert len(handlers) == 1
    assert handlers.by_name("other") is None


@pytest.mark.parametrize(
    ("function", "is_async", "name"),
    [
        (plain, False, "plain"),
        (coroutine, True, "coroutine"),
        (functools.partial(two, "north"), False, "two"),
        (functools.partial(async_two, "north"), True, "async_two"),
        (functools.partial(functools.partial(async_two), "north"), True, "async_two"),
        (PlainCallable(), False, "PlainCallable"),
        (AsyncCallable(), True, "AsyncCallable"),
        (functools.partial(AsyncCallable()), True, "AsyncCallable"),
        (PlainCallable().method, False, "PlainCallable.method"),
        (AsyncCallable().method, True, "AsyncCallable.method"),
        ([].append, False, None),
    ],
)
def test_whatever_takes_one_event_is_taken_and_called_the_right_way(
    function: Callable[..., Any],
    is_async: bool,  # noqa: FBT001 - pytest passes it by name
    name: str | None,
) -> None:
    """Coroutines run in the event loop, all else in a thread; also behind a partial or an object."""
    handlers = Handlers()
    handlers.on("a", name=None if name else "append")(function)
    [handler] = handlers
    assert handler.is_async == is_async
    assert handler.name == (f"{__name__}.{name}" if name else "append")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (None, "A NoneType is not callable"),
        (generator, "generator is a generator"),
        (async_generator, "async_generator is a generator"),
        (functools.partial(generator), "generator is a generator"),
        (GeneratorCallable(), "GeneratorCallable is a generator"),
        (PlainCallable, "PlainCallable is a class"),
        (functools.partial(PlainCallable), "PlainCallable is a class"),
        (PlainCallable.method, "can't be called with one event"),
        (two, "two can't be called with one event"),
        (no_arguments, "no_arguments can't be called with one event"),
        (functools.partial(no_arguments), "no_arguments can't be called with one event"),
        (lambda event: None, "A lambda in"),  # noqa: ARG005 - the parameter's presence is the point
    ],
)
def test_what_would_fail_with_the_first_event_is_refused_at_registration(function: Any, message: str) -> None:
    """A mistake shows at start, in the terminal of who made it."""
    handlers = Handlers()
    with pytest.raises(RegistrationError, match=message):
        handlers.on("a")(function)
    assert len(handlers) == 0


def test_a_name_without_the_place_of_definition_is_stable() -> None:
    """A function in a function is named without `<locals>`, which no header takes."""

    def inner(event: Event) -> None:
        """Do nothing."""

    handlers = Handlers()
    handlers.on("a")(inner)
    [handler] = handlers
    assert handler.name.endswith("test_a_name_without_the_place_of_definition_is_stable.inner")


def test_a_name_that_is_taken_is_refused() -> None:
    """A retry finds its handler by name: two of one name would be called in place of each other."""
    handlers = Handlers()
    handlers.on("a", name="n")(plain)
    with pytest.raises(RegistrationError, match="There is a handler named 'n' already, on 'a'"):
        handlers.on("b", name="n")(coroutine)
    handlers.on("c")(plain)
    with pytest.raises(RegistrationError, match="already, on 'c'"):
        handlers.on("d")(plain)


def test_one_function_on_one_pattern_twice_is_refused() -> None:
    """Also under two names it would be called twice for each event."""
    handlers = Handlers()
    method = PlainCallable()
    handlers.on("a", name="one")(method.method)
    with pytest.raises(RegistrationError, match="would be called twice"):
        handlers.on("a", name="two")(method.method)
    handlers.on("b", name="two")(method.method)


@pytest.mark.parametrize("timeout_s", [0, -1, math.nan, math.inf, 1e-9, 1e300, True, "30", None])
def test_a_timeout_that_is_none_is_refused(timeout_s: Any) -> None:
    """Every attempt ends: more than nothing, and less than for ever."""
    with pytest.raises(RegistrationError, match="timeout_s="):
        Handlers().on("a", timeout_s=timeout_s)


@pytest.mark.parametrize("concurrency", [0, -1, 1.5, True, "16", None])
def test_a_concurrency_that_is_none_is_refused(concurrency: Any) -> None:
    """A handler that may never be called is a mistake."""
    with pytest.raises(RegistrationError, match="concurrency="):
        Handlers().on("a", concurrency=concurrency)


@pytest.mark.parametrize("name", ["", "a b", "a\n", "ü", "a" * 201, "<lambda>", 1])
def test_a_name_that_no_header_takes_is_refused(name: Any) -> None:
    """The name goes into a Kafka header, a metric's label and a log line."""
    with pytest.raises(RegistrationError, match="can't name a handler"):
        Handlers().on("a", name=name)(plain)


def test_a_pattern_that_is_none_is_refused() -> None:
    """Before the function is even seen."""
    with pytest.raises(EventFilterError):
        Handlers().on("order.*.created")


def test_the_default_registry_is_a_registry() -> None:
    """`from outbox import handlers` is what the documentation says it is, not the module of that name."""
    assert isinstance(default_registry, Handlers)
