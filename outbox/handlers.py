"""The registry of handlers: which functions are called for which event types.

Filled when an application's modules are imported, read by the worker. A handler is a delivery's target, and
its name is what waiting retries know it by: a renamed handler is not found again (`HANDLER_NOT_REGISTERED`).
Give a name where the function may move.

What can't work is refused at registration, at start, and not with the first event.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from outbox.errors import RegistrationError
from outbox.event_filter import EventFilter
from outbox.handler_function import check_function, default_name, is_async_function

__all__ = ["Handler", "Handlers"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

MAX_NAME_CHARACTERS: Final = 200
# It goes into a header, a metric's label and a log line, so the alphabet is that of event types.
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_CACHED_TYPES: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One registered function.

    Attributes:
        name: what deliveries, retries and logs call it.
        filter: the event types that it is called for.
        function: takes one `Event`. Called in the event loop if `is_async`, in a thread otherwise.
        is_async: whether calling it gives a coroutine.
        timeout: how long one attempt may take.
        concurrency: how many calls of it one worker has in flight at most.
    """

    name: str
    filter: EventFilter
    function: Callable[..., Any] = field(repr=False)
    is_async: bool
    timeout: timedelta
    concurrency: int


class Handlers:
    """A registry. Most applications use the one that is there: `from outbox import handlers`.

    >>> from outbox import Handlers
    >>> handlers = Handlers()
    >>> @handlers.on("order.*", name="billing", timeout_s=5)
    ... async def bill(event): ...
    >>> [handler.name for handler in handlers.for_type("order.created")]
    ['billing']
    >>> handlers.for_type("customer.created")
    ()
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Handler] = {}
        self._by_type: dict[str, tuple[Handler, ...]] = {}

    def on(
        self, pattern: str, *, name: str | None = None, timeout_s: float = 30.0, concurrency: int = 16
    ) -> Callable[[_Function], _Function]:
        """Return a decorator that registers a function, and gives it back as it is.

        Args:
            pattern: an `EventFilter`: `order.created`, `order.*` or `*`.
            name: unique in the registry; by default the function's module and qualified name.
            timeout_s: how long one attempt may take. One that takes longer has failed, and is retried. A
                coroutine is cancelled then; a thread can't be, and runs on unobserved.
            concurrency: the most calls in flight at once, in one worker.

        Raises:
            EventFilterError: the pattern is none.
            RegistrationError: a limit out of range, now; or, when it decorates, a name that is taken or
                unfit, or something that can't be called with one event.
        """
        event_filter = EventFilter(pattern)
        timeout = _timeout(timeout_s)
        _check_concurrency(concurrency)

        def register(function: _Function) -> _Function:
            check_function(function)
            handler = Handler(
                name=_checked_name(default_name(function) if name is None else name),
                filter=event_filter,
                function=function,
                is_async=is_async_function(function),
                timeout=timeout,
                concurrency=concurrency,
            )
            self._add(handler)
            return function

        return register

    def for_type(self, event_type: str) -> tuple[Handler, ...]:
        """Return the handlers of an event type, in the order of their registration."""
        found = self._by_type.get(event_type)
        if found is None:
            found = tuple(handler for handler in self if handler.filter.matches(event_type))
            if len(self._by_type) >= _CACHED_TYPES:  # types come from outside: they must not fill the memory
                self._by_type.clear()
            self._by_type[event_type] = found
        return found

    def by_name(self, name: str) -> Handler | None:
        """Return the handler of that name, for a retry that waited for it; None if there is none any more."""
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Handler]:
        return iter(tuple(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def _add(self, handler: Handler) -> None:
        self._refuse_duplicates(handler)
        self._by_name[handler.name] = handler
        self._by_type.clear()

    def _refuse_duplicates(self, handler: Handler) -> None:
        taken = self._by_name.get(handler.name)
        if taken is not None:
            raise RegistrationError(
                f"There is a handler named {handler.name!r} already, on {taken.filter.pattern!r}. A name is "
                "what retries find their handler by: give this one another (name=...). If a module was "
                "imported twice, under two names, import it under one."
            )
        for other in self:
            if other.function == handler.function and other.filter == handler.filter:
                raise RegistrationError(
                    f"The function of handler {other.name!r} is on {handler.filter.pattern!r} already. As "
                    f"{handler.name!r} it would be called twice for each event: remove one of the two."
                )


def _timeout(timeout_s: object) -> timedelta:
    if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not _is_timeout(timeout_s):
        raise RegistrationError(
            f"timeout_s={timeout_s!r} is no timeout. Give seconds, more than 0 and finite."
        )
    timeout = timedelta(seconds=timeout_s)
    if not timeout:
        raise RegistrationError(f"timeout_s={timeout_s!r} is less than a microsecond. Give more.")
    return timeout


def _is_timeout(seconds: float) -> bool:
    return math.isfinite(seconds) and 0 < seconds < timedelta.max.total_seconds()


def _check_concurrency(concurrency: object) -> None:
    if not isinstance(concurrency, int) or isinstance(concurrency, bool) or concurrency < 1:
        raise RegistrationError(
            f"concurrency={concurrency!r} is no number of calls. Give an int of 1 or more."
        )


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise RegistrationError(
            f"{str(name)[:MAX_NAME_CHARACTERS]!r} can't name a handler. Give a name of ASCII letters, "
            f"digits, '_', '.' and '-', {MAX_NAME_CHARACTERS} characters at most (name=...)."
        )
    return name
