"""What tests of replays run on: for a module whose tests kill none of them, one worker, one recorder and one API."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tests.support.api_process import ApiProcess
from tests.support.installation import Installation
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline

__all__ = ["a_new_endpoint", "api", "running"]


@pytest.fixture(scope="module")
def running(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Pipeline]:
    """Named after the test's folder."""
    with Pipeline(installation, name=request.path.parent.name) as pipeline:
        pipeline.worker()
        pipeline.recorder()
        yield pipeline


@pytest.fixture(scope="module")
def api(running: Pipeline) -> ApiProcess:
    return ApiProcess(running)


def a_new_endpoint(pipeline: Pipeline, *, after: int) -> tuple[str, list[UUID], Mailbox]:
    """An endpoint that is added after so many events of its types, which another got: since when, which, and it."""
    old = pipeline.mailbox()
    pipeline.wait_until_known(old)
    since = datetime.now(UTC).isoformat()
    history = pipeline.append_many(f"{old.event_type}.history", after)
    old.wait_for_events(history)
    return since, history, pipeline.mailbox(event_type=old.event_type)
