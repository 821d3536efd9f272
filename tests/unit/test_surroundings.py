"""The time that passes for a worker, against what the machine does to it."""

import time

import pytest

from streams.commit.lease import Lease
from streams.surroundings import SystemSurroundings


def test_a_suspended_machine_loses_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-8: who was suspended for longer than the session begins nothing: the broker's clock went on meanwhile.

    The kernel's monotonic clock stands still in a suspension, its boot-time clock does not.
    """
    suspended_s = 0.0
    boot_time = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    real = time.clock_gettime
    monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + suspended_s * (clock == boot_time))
    lease = Lease(session_s=6.0, monotonic_s=SystemSurroundings().monotonic_s)
    lease.renew(asked_at_s=lease.now_s())
    assert lease.held()
    suspended_s = 7.0
    assert not lease.held()
