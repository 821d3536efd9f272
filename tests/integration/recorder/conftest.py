"""A target of each test's own, by which its records are told apart in the topic and the log that all tests share."""

from __future__ import annotations

from secrets import token_hex

import pytest

__all__ = ["target"]


@pytest.fixture
def target() -> str:
    return f"endpoint:ep_{token_hex(6)}"
