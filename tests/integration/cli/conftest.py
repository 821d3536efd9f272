"""The stack with worker, scheduler and recorder in the background, for all tests here; each leaves it up."""

from collections.abc import Iterator

import pytest

from devstack.stack import EmbeddedStack
from tests.support.dev_command import DevCommand

__all__ = ["dev"]


@pytest.fixture(scope="package")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevCommand]:
    """All of it up."""
    state_dir = tmp_path_factory.mktemp("up") / "state"
    dev = DevCommand(state_dir)
    try:
        up = dev("up", "--all")
        assert up.returncode == 0, up.stdout + up.stderr
        yield dev
    finally:
        dev("down", "--remove")
        EmbeddedStack(state_dir).remove()
