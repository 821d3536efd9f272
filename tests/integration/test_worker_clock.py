"""A worker whose wall clock jumps, from a row to its retry. Alone: another one would take a part of the events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.answers import respond
from tests.support.by_event import attempt_by_attempt
from tests.support.child import Child
from tests.support.pipeline import Pipeline
from tests.support.stepped_clock import ClockStep, stepped_clock_module

STEP_S = -60


def test_a_worker_whose_clock_jumps_back_hurries_no_retry(pipeline: Pipeline, tmp_path: Path) -> None:
    """INV-3: the wait that the schedule says is kept. The signature's time is the system's, whatever that says."""
    step = ClockStep(tmp_path / "step")
    pipeline.scheduler()
    with Child(
        "worker",
        environment={**pipeline.installation.worker_environment, "OUTBOX_ENDPOINT_SCHEDULE": "4s"},
        log=pipeline.installation.logs / "stepped-worker.log",
        module=stepped_clock_module(step.path),
    ) as worker:
        worker.wait_for("worker_started")
        mailbox = pipeline.mailbox(attempt_by_attempt(respond(500), respond(204)))
        pipeline.wait_until_known(mailbox)
        step.set(STEP_S)
        event_id = pipeline.append(f"{mailbox.event_type}.stepped")
        pipeline.attempts.wait_for(event_id, "failed", "succeeded")
        worker.stop()
    first, second = mailbox.of(event_id)
    assert (second.at - first.at).total_seconds() >= 2  # the jitter takes half of it at most
    assert float(first.headers["webhook-timestamp"]) == pytest.approx(first.at.timestamp() + STEP_S, abs=2)
    assert [line["by_s"] for line in worker.of("clock_stepped")] == [pytest.approx(STEP_S, abs=0.1)]
