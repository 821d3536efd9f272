"""How `outbox verify` ends where it can't say anything."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import verify
from streams.cli.main import app


def test_a_defect_is_not_the_code_of_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ends with 1 where nobody catches an exception: here that would be an alarm."""

    def broken(*_args: Any, **_named: Any) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(verify, "verified", broken)
    monkeypatch.setenv("OUTBOX_DATABASE_URL", "postgresql://localhost:9/x")
    monkeypatch.setenv("OUTBOX_KAFKA_BOOTSTRAP_SERVERS", "localhost:9")
    result = CliRunner().invoke(app, ["verify", "--since", "1h"])
    assert result.exit_code == 2
    assert "a defect" in result.stderr
