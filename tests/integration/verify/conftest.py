"""What the tests here run on: a worker and a recorder, and no scheduler, so that what waits in a tier stays there."""

from tests.support.replaying import running

__all__ = ["running"]
