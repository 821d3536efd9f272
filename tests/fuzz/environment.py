"""An environment for one example: only these `OUTBOX_` variables, and the old ones afterwards."""

import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["can_be_in_an_environment", "environment"]


@contextmanager
def environment(variables: dict[str, str]) -> Generator[None]:
    """An environment with these OUTBOX_ variables and no others."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("OUTBOX_")]:
        del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def can_be_in_an_environment(text: str) -> bool:
    """No NUL, and no half character but those that stand for a byte."""
    return "\0" not in text and not any("\ud800" <= c <= "\udc7f" or "\udd00" <= c <= "\udfff" for c in text)
