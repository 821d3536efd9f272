"""What a reader makes of an input: its value, or the one error that it may raise."""

from collections.abc import Callable
from typing import TypeVar

__all__ = ["read_or_refused"]

Value = TypeVar("Value")
Refusal = TypeVar("Refusal", bound=Exception)


def read_or_refused(read: Callable[[], Value], refusal: type[Refusal]) -> Value | Refusal:
    """The value, or the error of that type: both are right answers. Any other error fails the test."""
    try:
        return read()
    except refusal as error:
        return error
