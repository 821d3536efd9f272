"""The steps of one match: how far a payload filter walks through a payload, and where it stops. Pure.

Place in the data's way: with each match, through the filter's fields and leaves. A match is made on the event loop that
all targets of a worker share, and fields times elements may be a hundred million. What always holds: the same filter
and the same payload take the same steps, whoever counts: no clock, no load. Must not know what is looked at.
"""

from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["MAX_STEPS", "Steps", "TooManyStepsError"]

MAX_STEPS: Final = 20_000
"""Of one filter in one payload. Some 10 ms on one core at the worst."""


class TooManyStepsError(Exception):
    """The match would take more steps than it may. Never leaves `PayloadFilter.matches`."""


class Steps:
    """The steps that one match has left.

    >>> steps = Steps(4)
    >>> list(steps.through(["a", ["b"]]))
    ['a', 'b']
    >>> steps.take(2)
    Traceback (most recent call last):
    connectors.webhook.payload_steps.TooManyStepsError
    """

    __slots__ = ("_left",)

    def __init__(self, most: int = MAX_STEPS) -> None:
        self._left = most

    def take(self, count: int) -> None:
        """Take steps, before what they are for is done.

        Raises:
            TooManyStepsError: there are not so many left.
        """
        self._left -= count
        if self._left < 0:
            raise TooManyStepsError

    def through(self, value: object, each: int = 1) -> Iterable[object]:
        """A value, or what stands in an array and in the arrays within it.

        Args:
            value: of the payload.
            each: the steps that each element takes, an array within the array too.

        Raises:
            TooManyStepsError: here, or while it is walked through.
        """
        if isinstance(value, list):
            return self._elements(value, each)
        self.take(each)
        return (value,)

    def _elements(self, array: list[object], each: int) -> Iterator[object]:
        # Without recursion: they may be deep.
        open_arrays = [iter(array)]
        while open_arrays:
            for element in open_arrays[-1]:
                self.take(each)
                if isinstance(element, list):
                    open_arrays.append(iter(element))
                    break
                yield element
            else:
                open_arrays.pop()
