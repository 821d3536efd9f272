"""What tests of replays run on: for a module whose tests kill none of them, one worker, one recorder and one API."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tests.support.api_process import ApiProcess
from tests.support.installation import Installation
from tests.support.mailbox import Mailbox
from tests.support.pipeline import Pipeline

__all__ = ["a_new_endpoint", "api", "created_at", "running", "traffic"]


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


@contextmanager
def traffic(running: Pipeline, event_type: str) -> Generator[list[UUID]]:
    """Events that go on being appended during the block, one transaction each; the list has all of them after it."""
    stop, appended = threading.Event(), list[UUID]()

    def append() -> None:
        while not stop.wait(0.01):
            appended.append(running.append(event_type))

    thread = threading.Thread(target=append)
    thread.start()
    try:
        yield appended
    finally:
        stop.set()
        thread.join()


def created_at(running: Pipeline, event_id: UUID) -> datetime:
    """When an event was committed: the rows of these tests stay in the table."""
    with running.connect() as connection:
        row = connection.execute("select created_at from outbox.outbox where id = %s", [event_id]).fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment
