"""Which process a pid means, and that no other is ever signalled."""

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from devstack.child import Command, end, kill_family, marked_processes, spawn
from devstack.process_identity import ProcessIdentity


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        yield process
        process.kill()


def identity_of(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    return identity


def test_a_process_is_alive_until_it_ends(child: subprocess.Popen[bytes]) -> None:
    """Also a zombie, which still has its pid, counts as gone."""
    identity = identity_of(child)
    assert identity.is_alive()
    child.kill()
    os.waitid(
        os.P_PID, child.pid, os.WEXITED | os.WNOWAIT
    )  # it is a zombie now: ended, and not yet waited for
    assert not identity.is_alive()
    assert ProcessIdentity.of(child.pid) is None


def test_a_reused_pid_is_never_signalled(child: subprocess.Popen[bytes]) -> None:
    """What was recorded is a process, not a number: whoever has the number now is left alone."""
    stranger = replace(identity_of(child), birth="a reboot ago")
    assert not stranger.is_alive()
    end(stranger, with_signal=signal.SIGTERM, patience=timedelta(0))
    kill_family(stranger)
    assert child.poll() is None


def test_one_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    """A stop ends, whatever the process does about it, and takes the children along."""
    script = "trap '' TERM; sleep 60 & echo $! > started; wait; wait"
    command = Command(arguments=["sh", "-c", script], folder=tmp_path, mark="test@here")
    os.mkfifo(tmp_path / "started")
    identity = spawn(command, log=tmp_path / "log")
    grandchild = ProcessIdentity.of(int((tmp_path / "started").read_text()))
    assert identity is not None
    assert grandchild is not None
    end(identity, with_signal=signal.SIGTERM, patience=timedelta(milliseconds=100))
    assert not identity.is_alive()
    assert not grandchild.is_alive()


def test_a_marked_child_is_found_without_its_pid(tmp_path: Path) -> None:
    """A launcher that was killed before it wrote a pid down leaves a process that can be found."""
    mark = f"test@{tmp_path}"
    child = spawn(Command(arguments=["sleep", "60"], folder=tmp_path, mark=mark), log=tmp_path / "log")
    assert child is not None
    assert [identity for marked, identity in marked_processes() if marked == mark] == [child]
    kill_family(child)
    assert [identity for marked, identity in marked_processes() if marked == mark] == []
