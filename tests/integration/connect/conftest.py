"""A stack of these tests' own, because they break it: slots are dropped, services killed, connectors misconfigured."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from pydantic import SecretStr

from connectors.kafka_connect.client import ConnectClient
from devstack.stack import EmbeddedStack, temporary_stack
from streams.settings import Settings
from streams.setup import run_setup
from streams.setup.plan import Plan
from streams.setup.steps import Step
from tests.support.topics import TopicTail


@pytest.fixture(scope="package")
def own_stack() -> Iterator[EmbeddedStack]:
    with temporary_stack() as started:
        yield started


@pytest.fixture(scope="package")
def settings(own_stack: EmbeddedStack) -> Settings:
    """The stack's addresses, and few topics: each is a file to create."""
    return settings_of(own_stack)


def settings_of(stack: EmbeddedStack) -> Settings:
    return Settings(
        database_url=SecretStr(stack.settings.database_url),
        kafka_bootstrap_servers=stack.settings.kafka_bootstrap_servers,
        connect_url=stack.settings.connect_url,
        partitions=2,
        lanes=2,
        tiers=(timedelta(seconds=1), timedelta(minutes=15)),
    )


def set_up(settings: Settings, *, dry_run: bool = False) -> tuple[Plan, list[Step]]:
    """Run setup, and give its plan and the steps that it said it took."""
    taken: list[Step] = []
    return asyncio.run(run_setup(settings, dry_run=dry_run, on_step=taken.append)), taken


@pytest.fixture
def ready(settings: Settings) -> Settings:
    """Everything set up and streaming, whatever an earlier test left."""
    set_up(settings)
    return settings


@pytest.fixture
def database(ready: Settings) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(ready.database_url.get_secret_value(), autocommit=True) as connection:
        yield connection


@pytest.fixture
def events(ready: Settings) -> Iterator[TopicTail]:
    """What comes to outbox.events from now on."""
    tail = TopicTail(ready.kafka_bootstrap_servers, "outbox.events")
    yield tail
    tail.close()


@pytest.fixture
async def connect(ready: Settings) -> ConnectClient:
    return ConnectClient(ready.connect_url)
