"""How a command ends that can't do its work: one clear text on stderr and an exit code, no traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from connectors.kafka.errors import KafkaEdgeError
from connectors.kafka_connect.errors import ConnectEdgeError
from connectors.postgres.errors import PostgresError
from connectors.webhook.errors import WebhookError
from outbox import OutboxError
from streams.errors import StreamsError

__all__ = ["said_plainly"]

_FOR_PEOPLE = (StreamsError, KafkaEdgeError, ConnectEdgeError, PostgresError, WebhookError, OutboxError)


@contextmanager
def said_plainly(*, code: int = 1) -> Iterator[None]:
    """Turn the errors that are meant for people into a text and this exit code; let defects be seen."""
    try:
        yield
    except _FOR_PEOPLE as error:
        Console(stderr=True, highlight=False).print(f"outbox: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(code) from error
