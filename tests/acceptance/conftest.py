"""One worker, scheduler and recorder for all of these tests: none of them stops or kills a process, or starts one."""

from collections.abc import Iterator

import pytest

from tests.support.child import Child
from tests.support.installation import Installation
from tests.support.pipeline import Pipeline

__all__ = ["nobody_stays_frozen", "recorder", "running", "scheduler"]


@pytest.fixture(scope="package")
def running(installation: Installation) -> Iterator[Pipeline]:
    """The pipeline with a worker on it, which has the scripted handlers and retries soon."""
    with Pipeline(installation, name="acceptance") as pipeline:
        pipeline.worker(
            handlers="tests.support.scripted_handlers",
            endpoint_schedule="1s,1s",
            handler_max_attempts=3,
            window=200,
            log_level="debug",
        )
        yield pipeline


@pytest.fixture(scope="package")
def scheduler(running: Pipeline) -> Child:
    """The scheduler beside it. A test that lets a delivery stay parked freezes it."""
    return running.scheduler(log_level="debug")


@pytest.fixture(scope="package")
def recorder(running: Pipeline) -> Child:
    """The recorder beside it: the only one, so that a test which freezes it has none."""
    return running.recorder(log_level="debug")


@pytest.fixture(autouse=True)
def nobody_stays_frozen(request: pytest.FixtureRequest) -> Iterator[None]:
    """Thaw what a test that failed has frozen: the others have done nothing."""
    frozen = [
        request.getfixturevalue(name) for name in ("scheduler", "recorder") if name in request.fixturenames
    ]
    yield
    for child in frozen:
        child.thaw()
