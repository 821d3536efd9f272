"""What every test may ask for: the real stack, started once a run, all of it gone afterwards.

A stack that can't start fails the tests that need it. Tests that kill a service of it start it again and wait until it
answers; tests that need more than that start a stack of their own.
"""

from collections.abc import Iterator

import pytest

from devstack.stack import EmbeddedStack, temporary_stack

__all__ = ["connect_url", "database_url", "kafka_bootstrap_servers", "stack"]


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
