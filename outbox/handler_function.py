"""What a handler may be: anything that can be called with one event, and returns when it is done.

So: functions, bound methods, `functools.partial`s and objects with `__call__`, plain or async. Not:
    generators (a call
would run nothing), classes (a call would only make an object), or what needs more arguments than one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from outbox.errors import RegistrationError

__all__ = ["check_function", "default_name", "is_async_function"]


def check_function(function: object) -> None:
    """Refuse what can't be a handler.

    Raises:
        RegistrationError: it isn't callable, a class, a generator, or not callable with one argument.
    """
    if not callable(function):
        raise RegistrationError(
            f"A {type(function).__name__} is not callable. Register a function of one event."
        )
    label = _label(function)
    if inspect.isclass(_without_partials(function)):
        raise RegistrationError(
            f"{label} is a class. Register an instance that can be called, or a function."
        )
    code = _innermost(function)
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise RegistrationError(
            f"{label} is a generator: calling it would run nothing. Return instead of yielding."
        )
    if not _takes_one_argument(function):
        raise RegistrationError(
            f"{label} can't be called with one event. Give it exactly one positional parameter without a "
            "default; bind others with functools.partial, and register a method on an instance."
        )


def is_async_function(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, as far as can be seen without calling it."""
    return inspect.iscoroutinefunction(_innermost(function))


def default_name(function: Callable[..., Any]) -> str:
    """Name a function by its module and qualified name; an object by its class, a partial by what it binds.

    >>> default_name(functools.partial(check_function))
    'outbox.handler_function.check_function'

    Raises:
        RegistrationError: it has no name that would be the same tomorrow, as a lambda.
    """
    named: Any = _without_partials(function)
    if not hasattr(named, "__qualname__"):
        named = type(named)
    words = [word for word in f"{named.__module__}.{named.__qualname__}".split(".") if word != "<locals>"]
    if "<lambda>" in words:
        raise RegistrationError(
            f"A lambda in {named.__module__} has no name of its own. Give it one (name=...): retries find it "
            "by that."
        )
    return ".".join(words)


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(object())
    except TypeError:
        return False
    except ValueError:  # some builtins have no signature to inspect
        return True
    return True


def _without_partials(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what holds the code that runs: under partials, and an object's `__call__`."""
    function = _without_partials(function)
    if inspect.isroutine(function):
        return function
    return _without_partials(type(function).__call__)


def _label(function: Callable[..., Any]) -> str:
    named: Any = _without_partials(function)
    return str(getattr(named, "__qualname__", type(named).__qualname__))
