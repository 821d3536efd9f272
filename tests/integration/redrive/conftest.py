"""What the tests here run on."""

from tests.support.replaying import api, running

__all__ = ["api", "running"]
