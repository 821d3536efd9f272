"""`outbox run`, as far as it goes before it starts anything."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from streams.cli.main import app

ELSEWHERE = "postgresql://app@db.internal:5432/shop"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "OUTBOX_ENCRYPTION_KEYS"),
        ({"OUTBOX_ENCRYPTION_KEYS": "plain", "OUTBOX_API_LISTEN": "0.0.0.0:8090"}, "OUTBOX_API_TOKENS"),
    ],
)
def test_what_the_api_would_refuse_is_refused_before_anything_starts(
    settings: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said once and with what to do: a worker that has begun would be ended by the API's end."""
    values = {
        "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:9",
        "OUTBOX_DATABASE_URL": ELSEWHERE,
        **settings,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    result = CliRunner().invoke(app, ["run"])
    assert result.exit_code == 1
    assert named in result.stderr
    assert "ended with code" not in result.stderr
