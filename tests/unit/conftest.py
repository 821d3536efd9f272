"""How the unit tests run: hypothesis without a deadline, because a busy machine is no failure."""

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings
from structlog.typing import EventDict

__all__ = ["log_lines"]

settings.register_profile("unit", deadline=None)
settings.load_profile("unit")


@pytest.fixture
def log_lines() -> Iterator[list[EventDict]]:
    """What is logged during the test, kept instead of printed."""
    with structlog.testing.capture_logs() as lines:
        yield lines
