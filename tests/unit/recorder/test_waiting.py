"""What the recorder says while it can't write."""

from __future__ import annotations

from contextlib import closing
from time import monotonic

import pytest
from structlog.testing import capture_logs

from connectors.postgres.errors import (
    DatabaseUnreachableError,
    PostgresError,
    SchemaMissingError,
    StatementFailedError,
    StatementTimeoutError,
)
from streams.recorder.recorder import Recorder
from streams.recorder.retention import Retention
from streams.recorder.source import ATTEMPTS_SOURCE
from tests.support.keepers import a_keeper


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
    keeper = a_keeper("postgresql://127.0.0.1:9/none", retention=Retention(1))
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
