"""One worker, one recorder and one API for the tests of a module that kill none of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.api_process import ApiProcess
from tests.support.installation import Installation
from tests.support.pipeline import Pipeline

__all__ = ["api", "running"]


@pytest.fixture(scope="module")
def running(installation: Installation) -> Iterator[Pipeline]:
    with Pipeline(installation, name="replay") as pipeline:
        pipeline.worker()
        pipeline.recorder()
        yield pipeline


@pytest.fixture(scope="module")
def api(running: Pipeline) -> ApiProcess:
    return ApiProcess(running)
