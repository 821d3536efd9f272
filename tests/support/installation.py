"""The product as installed: the stack, set up once a run by `outbox setup`'s own code, and a receiver of webhooks.

What runs on it is a `Pipeline`'s matter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from devstack.stack import EmbeddedStack
from streams.duration import format_duration
from streams.settings import Settings
from streams.setup import run_setup
from tests.support.threaded_receiver import ThreadedReceiver

__all__ = ["TIERS", "Installation", "installed"]

# Short ones: what waits in them is what a test waits for.
TIERS: Final = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4))
_SHARED: Final = {
    "OUTBOX_TIERS": ",".join(map(format_duration, TIERS)),
    "OUTBOX_ENDPOINT_ALLOWED_NETWORKS": "127.0.0.0/8",
    # Dead letters are what many tests wait for, and some make many: the test of the flood guard turns it on.
    "OUTBOX_FLOOD_SHARE": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """`logs` is the folder with the log of every process of ours that a run starts."""

    stack: EmbeddedStack
    receiver: ThreadedReceiver
    logs: Path
    database_url: str
    kafka: str

    @property
    def worker_environment(self) -> Mapping[str, str]:
        """What a worker or scheduler is given: Kafka's address, and nothing of Postgres or Connect (INV-10)."""
        return {"OUTBOX_KAFKA_BOOTSTRAP_SERVERS": self.kafka, **_SHARED}


@contextmanager
def installed(stack: EmbeddedStack, logs: Path) -> Generator[Installation]:
    """Set the stack up and run a receiver."""
    found = stack.settings
    settings = Settings(
        database_url=SecretStr(found.database_url),
        kafka_bootstrap_servers=found.kafka_bootstrap_servers,
        connect_url=found.connect_url,
        tiers=TIERS,
    )
    asyncio.run(run_setup(settings, dry_run=False, on_step=lambda _: None))
    with ThreadedReceiver() as receiver:
        yield Installation(
            stack=stack,
            receiver=receiver,
            logs=logs,
            database_url=found.database_url,
            kafka=found.kafka_bootstrap_servers,
        )
