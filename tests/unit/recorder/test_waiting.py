"""What the recorder says while it can't write."""

from __future__ import annotations

from contextlib import closing
from time import monotonic

import pytest
from structlog.testing import capture_logs

from connectors.postgres.delivery_log_writer import DeliveryLogWriter
from connectors.postgres.errors import (
    DatabaseUnreachableError,
    PostgresError,
    SchemaMissingError,
    StatementFailedError,
    StatementTimeoutError,
)
from streams.recorder.attempt_log import AttemptLog
from streams.recorder.keeper import Keeper
from streams.recorder.recorder import Recorder
from streams.recorder.retention import Retention
from streams.recorder.source import ATTEMPTS_SOURCE


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (DatabaseUnreachableError("gone"), "postgres_away"),
        (StatementTimeoutError("slow"), "postgres_away"),
        (StatementFailedError("must be owner"), "postgres_refuses"),
        (SchemaMissingError("run outbox setup"), "postgres_refuses"),
    ],
)
def test_a_refusal_is_told_from_an_outage(error: PostgresError, event: str) -> None:
    """Who is woken looks at the network for the one, and at rights and setup for the other."""
    keeper = Keeper(
        AttemptLog(DeliveryLogWriter("postgresql://127.0.0.1:9/none")),
        topic=ATTEMPTS_SOURCE.topic,
        retention=Retention(1),
        monotonic_s=monotonic,
    )
    recorder = Recorder(
        "127.0.0.1:9",
        source=ATTEMPTS_SOURCE,
        keeper=keeper,
        session_timeout_s=10.0,
        monotonic_s=monotonic,
    )
    with closing(recorder._consumer), capture_logs() as lines:
        recorder._wait(error, 0.0, lambda: True)
    assert [(line["event"], line["error"]) for line in lines] == [(event, str(error))]
