"""What every test may ask for: the real stack, started once a run, all of it gone afterwards.

A stack that can't start fails the tests that need it. Tests that kill a service of it start it again and wait until it
answers; tests that need more than that start a stack of their own.
"""

import re
from collections.abc import Iterator

import pytest

from devstack.stack import EmbeddedStack, temporary_stack
from tests.support.figures import figures
from tests.support.installation import Installation, installed
from tests.support.pipeline import Pipeline

__all__ = [
    "connect_url",
    "database_url",
    "installation",
    "kafka_bootstrap_servers",
    "pipeline",
    "pytest_collection_modifyitems",
    "pytest_terminal_summary",
    "stack",
]


@pytest.fixture(scope="session")
def stack() -> Iterator[EmbeddedStack]:
    """Postgres, Kafka and Kafka Connect. `stack.settings` has the addresses, `stack.service(name)` one service."""
    with temporary_stack() as started:
        yield started


@pytest.fixture(scope="session")
def database_url(stack: EmbeddedStack) -> str:
    return stack.settings.database_url


@pytest.fixture(scope="session")
def kafka_bootstrap_servers(stack: EmbeddedStack) -> str:
    return stack.settings.kafka_bootstrap_servers


@pytest.fixture(scope="session")
def connect_url(stack: EmbeddedStack) -> str:
    return stack.settings.connect_url


@pytest.fixture(scope="session")
def installation(stack: EmbeddedStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The stack after `outbox setup`, and a receiver of webhooks beside it."""
    with installed(stack, tmp_path_factory.mktemp("logs")) as ready:
        yield ready


@pytest.fixture
def pipeline(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Pipeline]:
    """For a test that starts, stops and kills its own processes."""
    with Pipeline(installation, name=re.sub(r"\W+", "-", request.node.name)) as started:
        yield started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what deletes the others' history behind them, and what looks back at the whole run at its end."""
    last = ("cuts_history", "looks_back")
    items.sort(
        key=lambda item: max(
            (last.index(name) + 1 for name in last if item.get_closest_marker(name)), default=0
        )
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was measured."""
    if figures:
        terminalreporter.section("figures")
        for figure in figures:
            terminalreporter.write_line(figure)
