"""Waiting for what gives no signal of its own, such as a consumer group's state.

Everything else is waited for by its signal: a line of a log, a request, a record.
"""

import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["eventually"]

_T = TypeVar("_T")
_LOOK_AGAIN_S = 0.05


def eventually(look: Callable[[], _T | None], *, what: str, timeout_s: float = 30.0) -> _T:
    """Look again and again until there is something (not None, not False), and give it."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        found = look()
        if found is not None and found is not False:
            return found
        assert time.monotonic() < deadline_s, f"waited {timeout_s:g} s in vain for {what}"
        time.sleep(_LOOK_AGAIN_S)
