"""What is said and written down when Kafka gives no answer, and Postgres then none either."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from connectors.kafka.errors import OffsetsUncertain
from connectors.postgres.errors import DatabaseUnreachableError
from streams.cli import replay_reset
from streams.errors import StreamsError
from streams.reset.look import Look


class Log:
    """An audit table that takes one entry, and is gone then."""

    def __init__(self, connection: Any) -> None:
        self.written = connection.written

    def add(self, _actor: Any, action: str, **_more: Any) -> None:
        if self.written:
            raise DatabaseUnreachableError("Postgres failed")
        self.written.append(action)


class Connection:
    def __init__(self) -> None:
        self.written: list[str] = []

    def transaction(self) -> Any:
        return nullcontext()


class Silent:
    def write(self, _plans: Any, *, reset_id: str) -> None:
        del reset_id
        raise OffsetsUncertain("outbox-worker", "no answer within 15 s")


def test_that_the_offsets_may_be_set_is_said_although_postgres_fails_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who reads of Postgres alone would take it that nothing has happened."""
    monkeypatch.setattr(replay_reset, "AuditLog", Log)
    connection: Any = Connection()
    silent: Any = Silent()
    with pytest.raises(StreamsError, match=r"no answer within 15 s.*no entry of it: Postgres failed"):
        replay_reset._write(silent, (), Look(), connection)
    assert connection.written == ["offsets.reset"]
